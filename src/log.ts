import pino, { type Logger } from 'pino'

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

/** Written in the background, so that a log line never holds up a request. */
const standardOutput = () => pino.destination({ sync: false, minLength: 4_096, periodicFlush: 200 })

/** Written at once: who uses it prints its answer on standard output and ends. */
const standardError = () => pino.destination({ dest: 2, sync: true })

/**
 * JSON lines on standard output, or on standard error. Keys, tokens and bodies are never logged; the list is
 * the last line of defence.
 */
export function createLog(level: string, stream: 'stdout' | 'stderr' = 'stdout'): Logger {
  const destination = stream === 'stdout' ? standardOutput() : standardError()
  return pino(
    {
      level,
      base: null,
      redact: [...REDACTED],
    },
    destination,
  )
}
