import pino, { type Logger } from 'pino'

/**
 * JSON lines on standard output, written in the background. Keys, tokens and bodies are never logged; the
 * list is the last line of defence.
 */
export function createLog(level: string): Logger {
  const destination = pino.destination({ sync: false, minLength: 4_096, periodicFlush: 200 })
  return pino(
    {
      level,
      base: null,
      redact: [
        '*.authorization',
        '*.password',
        '*.secret',
        '*.apiKey',
        'err.config',
        'err.query',
        'err.parameters',
      ],
    },
    destination,
  )
}
