import { type ChildProcess, spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'
import { startTestServer } from './support/test-server.ts'

/**
 * Runs all test files, many in one process, against one Postgres. Arguments are parts of file names to
 * run only those; with --slowest the slowest tests are listed. The last line is "N passed, N failed".
 */

/** Files that start processes and databases of their own, and wait for them most of the time. */
const WAITING = /^test\/(durability|bin|db|pages)\//
/** Processes at the same time, and which files each of them runs first: files that wait and files that compute keep two cores busy together. */
const LANES: Kind[][] = [
  ['waiting', 'computing'],
  ['waiting', 'computing'],
  ['computing', 'waiting'],
  ['computing', 'waiting'],
]
/** Loading the service and its first start take longer than the tests of most files; processes that wait hold others up longer. */
const FILES_A_PROCESS: Record<Kind, number> = { waiting: 4, computing: 15 }
/** Tests that --slowest lists. */
const SLOWEST = 30
/** A process that takes longer hangs. */
const TIMEOUT_MS = 10 * 60_000
/** A process that has printed its totals and is still there after this time has left something running, and has failed. */
const ENDING_MS = 30_000

const root = path.join(import.meta.dirname, '..')
/** The cache spares every process of the run half of the time that it takes to load the service. */
const RUN_ENV = {
  NODE_ENV: 'test',
  NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/compile'),
  ...(process.argv.includes('--slowest') && { TELL_TIMES: '1' }),
}

type Totals = { passed: number; failed: number }

function filesToRun(): string[] {
  const wanted = process.argv.slice(2).filter((argument) => argument !== '--slowest')
  const files = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
  return wanted.length === 0 ? files : files.filter((file) => wanted.some((part) => file.includes(part)))
}

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

type Kind = 'waiting' | 'computing'

/** The files of each process. Neighbours, which take about as long, go to different ones, so that all end at about the same time. */
function inProcesses(files: string[]): Record<Kind, string[][]> {
  const kinds = Map.groupBy(files, (file): Kind => (WAITING.test(file) ? 'waiting' : 'computing'))
  const dealt = (kind: Kind): string[][] => {
    const own = kinds.get(kind) ?? []
    const count = Math.ceil(own.length / FILES_A_PROCESS[kind])
    return Array.from({ length: count }, (_, part) => own.filter((_, index) => index % count === part))
  }
  return { waiting: dealt('waiting'), computing: dealt('computing') }
}

function runFiles(files: string[], urls: Record<string, string>): Promise<Totals> {
  const names = files.map((file) => path.relative('test', file))
  const pattern = `^(${names.map(escapeRegExp).join('|')})$`
  const child = spawn(process.execPath, ['node_modules/uvu/bin.js', '--no-color', 'test', pattern], {
    cwd: root,
    env: { ...process.env, ...urls, ...RUN_ENV },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  let output = ''
  let ending: NodeJS.Timeout | undefined
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (TOTAL.test(output)) ending ??= setTimeout(() => child.kill('SIGKILL'), ENDING_MS)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  running.add(child)
  const startedAt = performance.now()
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(ending)
      running.delete(child)
      const totals = totalsOf(output, code)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      const mark = totals.failed === 0 ? 'ok  ' : 'FAIL'
      console.log(`${mark} ${names.join(', ')}  ${totals.passed} passed, ${seconds} s`)
      if (totals.failed > 0) console.log(troubleIn(output))
      times.push(...timesIn(output))
      resolve(totals)
    })
  })
}

/** What a process printed but for the lines of scenarios that passed, so that the first lines tell what is wrong. */
const troubleIn = (output: string): string =>
  output
    .split('\n')
    .filter((line) => line.trim() !== '' && !PASSED_SCENARIO.test(line))
    .join('\n')

/** A scenario without a failure: its name, a point for each test, and how many of how many passed. */
const PASSED_SCENARIO = /^ .*• +\((\d+) \/ \1\)$/

const TOTAL = /^\s*Total:\s+(\d+)/m

/** A process that printed no totals, or ended badly, has failed, whatever it counted. */
function totalsOf(output: string, code: number | null): Totals {
  const total = Number(TOTAL.exec(output)?.[1] ?? 0)
  const passed = Number(/^\s*Passed:\s+(\d+)/m.exec(output)?.[1] ?? 0)
  const failed = total - passed
  return { passed, failed: failed === 0 && (code !== 0 || total === 0) ? 1 : failed }
}

type Time = { seconds: number; test: string }

/** Times that the scenarios of a process have told. */
const timesIn = (output: string): Time[] =>
  [...output.matchAll(/^took (\d+\.\d) s: (.*)$/gm)].map(([, seconds, test = '']) => ({
    seconds: Number(seconds),
    test,
  }))

const times: Time[] = []
const running = new Set<ChildProcess>()
const server = await startTestServer()
// A run that is ended leaves no process and no server behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGTERM')
    void server.stop().finally(() => process.exit(1))
  })
}
const urls = { TEST_DATABASE_URL: server.url, TEST_SERVICE_URL: server.serviceUrl }
const queues = inProcesses(filesToRun())
const sum: Totals = { passed: 0, failed: 0 }

/** Runs one process after the other, until none is left that the lane runs. */
async function runLane(kinds: Kind[]): Promise<void> {
  const next = () =>
    kinds
      .map((kind) => queues[kind])
      .find((queue) => queue.length > 0)
      ?.shift()
  for (let files = next(); files !== undefined; files = next()) {
    const totals = await runFiles(files, urls)
    sum.passed += totals.passed
    sum.failed += totals.failed
  }
}

try {
  await Promise.all(LANES.map(runLane))
} finally {
  await server.stop()
}
const slowest = times.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST)
for (const { seconds, test } of slowest) console.log(`${seconds.toFixed(1).padStart(6)} s  ${test}`)
process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0
console.log(`${sum.passed} passed, ${sum.failed} failed`)
