import pino, { type Logger } from 'pino'
import { REDACTED } from '../../src/observe/log.ts'

/** A log that is kept in memory, from the lowest level on. */
export type CapturedLog = { log: Logger; lines: () => Record<string, unknown>[]; text: () => string }

export function capturedLog(): CapturedLog {
  const written: string[] = []
  const log = pino(
    { level: 'trace', base: null, redact: [...REDACTED] },
    { write: (line: string) => void written.push(line) },
  )
  return {
    log,
    lines: () => written.map((line) => JSON.parse(line)),
    text: () => written.join(''),
  }
}
