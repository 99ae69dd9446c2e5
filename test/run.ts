import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'
import { startTestServer } from './support/test-server.ts'

/**
 * Runs all test files, a few of a folder in one process, against one Postgres. Arguments are parts of file names to
 * run only those. The last line is "N passed, N failed".
 */

/** Processes at the same time. About a third of the time they wait, so that three keep two cores busy. */
const CONCURRENCY = 3
/** Loading the service and its first start take longer than the tests of most files. */
const FILES_A_PROCESS = 6
/** What starts processes and databases of its own takes longest, so that it comes first, each file by itself. */
const ALONE = /^test\/(durability|bin|db|pages)\//
/** A process that takes longer hangs. */
const TIMEOUT_MS = 10 * 60_000

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

/** The files of each process, in the order in which processes start. */
function inProcesses(files: string[]): string[][] {
  const alone = files.filter((file) => ALONE.test(file)).map((file) => [file])
  const folders = Map.groupBy(
    files.filter((file) => !ALONE.test(file)),
    (file) => path.dirname(file),
  )
  const shared = [...folders.values()].flatMap((folder) => {
    const count = Math.ceil(folder.length / FILES_A_PROCESS)
    return Array.from({ length: count }, (_, part) => folder.filter((_, index) => index % count === part))
  })
  return [...alone, ...shared.toSorted((one, other) => other.length - one.length)]
}

function runFiles(files: string[], urls: Record<string, string>): Promise<Totals> {
  const names = files.map((file) => path.relative('test', file))
  const pattern = `^(${names.map(escapeRegExp).join('|')})$`
  const child = spawn(process.execPath, ['node_modules/uvu/bin.js', 'test', pattern], {
    cwd: root,
    env: { ...process.env, ...urls, NODE_ENV: 'test', NODE_COMPILE_CACHE: COMPILE_CACHE, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
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
      const mark = totals.failed === 0 ? 'ok  ' : 'FAIL'
      console.log(`${mark} ${names.join(', ')}  ${totals.passed} passed, ${seconds} s`)
      if (totals.failed > 0) console.log(output)
      resolve(totals)
    })
  })
}

/** A process that printed no totals, or ended badly, has failed, whatever it counted. */
function totalsOf(output: string, code: number | null): Totals {
  const total = Number(/^\s*Total:\s+(\d+)/m.exec(output)?.[1] ?? 0)
  const passed = Number(/^\s*Passed:\s+(\d+)/m.exec(output)?.[1] ?? 0)
  const failed = total - passed
  return { passed, failed: failed === 0 && (code !== 0 || total === 0) ? 1 : failed }
}

const server = await startTestServer()
// A run that is ended leaves no server behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.stop().finally(() => process.exit(1)))
}
const urls = { TEST_DATABASE_URL: server.url, TEST_SERVICE_URL: server.serviceUrl }
const queue = inProcesses(filesToRun())
const sum: Totals = { passed: 0, failed: 0 }
try {
  const runners = Array.from({ length: CONCURRENCY }, async () => {
    for (let files = queue.shift(); files !== undefined; files = queue.shift()) {
      const totals = await runFiles(files, urls)
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
