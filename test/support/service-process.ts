import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { freePort } from '../../src/lib/net/free-port.ts'

const ROOT = path.join(import.meta.dirname, '..', '..')
const START_MS = 60_000

export type LogLine = { level: number; msg: string; err?: { message: string } }
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** The service as it is started for real: a process of its own. */
export type ServiceProcess = {
  url: string
  pid: number
  /** From the start of the process to its first sign of readiness. */
  startMs: number
  /** All that it has printed so far. */
  output: () => string
  /** Its log lines, parsed; `LOG_LEVEL` is "warn" unless the environment says otherwise. */
  log: () => LogLine[]
  signal: (signal: NodeJS.Signals) => void
  exited: Promise<Exit>
  isRunning: () => boolean
}

/** A port that stays the service's own across its restarts. */
export const ownPort = () => freePort('127.0.0.1')

/** Starts the service and waits until it serves. Throws with its output when it ends or does not get there. */
export async function startProcess(env: Record<string, string>): Promise<ServiceProcess> {
  const service = launchProcess(env)
  const late = AbortSignal.timeout(START_MS)
  const startedAt = performance.now()
  while (!service.output().includes('Mailwright is ready')) {
    if (!service.isRunning()) throw new Error(`The service has ended:\n${service.output()}`)
    if (late.aborted) {
      service.signal('SIGKILL')
      throw new Error(`The service did not start in ${START_MS} ms:\n${service.output()}`)
    }
    await service.printed()
  }
  return { ...service, startMs: Math.round(performance.now() - startedAt) }
}

/** Starts the process and returns at once. */
export function launchProcess(env: Record<string, string>) {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, ['src/bin/serve.ts'], {
    cwd: ROOT,
    env: {
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      NODE_ENV: 'test',
      LOG_LEVEL: 'warn',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let news = Promise.withResolvers<void>()
  const tell = () => {
    news.resolve()
    news = Promise.withResolvers<void>()
  }
  const listen = (chunk: Buffer) => {
    output += chunk.toString()
    tell()
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const exited = once(child, 'close').then(([code, signal]): Exit => {
    tell()
    return { code, signal }
  })
  return {
    url: `http://127.0.0.1:${env.PORT}`,
    pid: child.pid ?? 0,
    output: () => output,
    log: () => logLines(output),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    exited,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** Resolves at its next output, at its end, or after a moment. */
    printed: () => Promise.race([news.promise, new Promise<void>((resolve) => setTimeout(resolve, 200))]),
  }
}

const logLines = (output: string): LogLine[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"level"'))
    .map((line) => JSON.parse(line))

/** Ends a process that may have ended already, without asking. */
export async function endProcess(service: ServiceProcess | undefined): Promise<void> {
  service?.signal('SIGKILL')
  await service?.exited
}
