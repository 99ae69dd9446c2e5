import pino, { type LogFn, type Logger } from 'pino'
import { humanLine } from './human-line.ts'

/** Where secrets could stand, and where errors of the database quote the row or the text that they are about. */
export const REDACTED: readonly string[] = [
  '*.authorization',
  '*.password',
  '*.secret',
  '*.apiKey',
  'err.config',
  'err.query',
  'err.parameters',
  'err.detail',
  'err.where',
  'err.internalQuery',
  'err.meta',
  'err.client',
]

const DATABASE_AWAY = 'the database is not available; it is tried again until it is'
/** How often that is said while it lasts, in milliseconds. */
const REPEATED_MS = 10_000

/** Says that the database is away. Every request and connection notices that; the log has it every ten seconds. */
export function logDatabaseAway(log: Logger, error: unknown): void {
  const reasons = error instanceof AggregateError ? error.errors : [error]
  const reason = reasons.map((one) => (one instanceof Error ? one.message : String(one))).join(', ')
  log.warn({ reason }, DATABASE_AWAY)
}

/** Leaves out what `logDatabaseAway` has said within the last ten seconds. */
export function withoutRepeats(now: () => number = performance.now.bind(performance)) {
  let saidAt = -REPEATED_MS
  return function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
    if (args[1] === DATABASE_AWAY) {
      if (now() - saidAt < REPEATED_MS) return
      saidAt = now()
    }
    method.apply(this, args)
  }
}

/** Written in the background, so that a log line never holds up a request. */
const standardOutput = () => pino.destination({ sync: false, minLength: 4_096, periodicFlush: 200 })

/** Written at once: a program that uses it prints its answer on standard output and ends. */
const standardError = () => pino.destination({ dest: 2, sync: true })

/** For people who watch: writes each line at once. */
const terminal = () => ({ write: (line: string) => void process.stdout.write(humanLine(line)) })

/**
 * JSON lines on standard output, or on standard error; lines for people where standard output is a terminal. Keys, tokens
 * and bodies are never logged; the list is the last line of defence.
 */
export function createLog(level: string, stream: 'stdout' | 'stderr' = 'stdout'): Logger {
  const options = { level, base: null, redact: [...REDACTED], hooks: { logMethod: withoutRepeats() } }
  if (stream === 'stderr') return pino(options, standardError())
  return process.stdout.isTTY ? pino(options, terminal()) : pino(options, standardOutput())
}
