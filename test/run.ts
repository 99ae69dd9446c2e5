import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'
import { startTestServer } from './support/test-server.ts'

/**
 * Runs every test file in a process of its own, a few at a time, against one Postgres. Arguments are parts of
 * file names to run only those. The last line is "N passed, N failed".
 */
const CONCURRENCY = 2
/** A file that takes longer hangs. */
const FILE_TIMEOUT_MS = 8 * 60_000

const root = path.join(import.meta.dirname, '..')
/** It spares every process of the run half of the time that it takes to load the service. */
const COMPILE_CACHE = path.join(root, 'node_modules/.cache/compile')

type Totals = { passed: number; failed: number }

function filesToRun(): string[] {
  const wanted = process.argv.slice(2)
  const files = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
  return wanted.length === 0 ? files : files.filter((file) => wanted.some((part) => file.includes(part)))
}

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

function runFile(file: string, urls: Record<string, string>): Promise<Totals> {
  const pattern = `^${escapeRegExp(path.relative('test', file))}$`
  const child = spawn(process.execPath, ['node_modules/uvu/bin.js', 'test', pattern], {
    cwd: root,
    env: { ...process.env, ...urls, NODE_ENV: 'test', NODE_COMPILE_CACHE: COMPILE_CACHE, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: FILE_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const startedAt = performance.now()
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const totals = totalsOf(output, code)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.log(`${totals.failed === 0 ? 'ok  ' : 'FAIL'} ${file}  ${totals.passed} passed, ${seconds} s`)
      if (totals.failed > 0) console.log(output)
      resolve(totals)
    })
  })
}

/** A file that printed no totals, or ended badly, has failed, whatever it counted. */
function totalsOf(output: string, code: number | null): Totals {
  const total = Number(/^\s*Total:\s+(\d+)/m.exec(output)?.[1] ?? 0)
  const passed = Number(/^\s*Passed:\s+(\d+)/m.exec(output)?.[1] ?? 0)
  const failed = total - passed
  return { passed, failed: failed === 0 && (code !== 0 || total === 0) ? 1 : failed }
}

const server = await startTestServer()
const urls = { TEST_DATABASE_URL: server.url, TEST_SERVICE_URL: server.serviceUrl }
const queue = filesToRun()
const sum: Totals = { passed: 0, failed: 0 }
try {
  const runners = Array.from({ length: CONCURRENCY }, async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const totals = await runFile(file, urls)
      sum.passed += totals.passed
      sum.failed += totals.failed
    }
  })
  await Promise.all(runners)
} finally {
  await server.stop()
}
process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0
console.log(`${sum.passed} passed, ${sum.failed} failed`)
