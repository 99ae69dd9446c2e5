import { isJsonObject, type JsonValue } from '../lib/json.ts'

/** The names of pino's levels. */
const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const ERROR = 50

/** Formats a line of the log, which is JSON, for people: time, level, message, and the other fields. */
export function humanLine(line: string): string {
  const { level, time, msg, err, ...more } = JSON.parse(line)
  const clock = new Date(time).toTimeString().slice(0, 8)
  return `${clock} ${(LEVELS[level] ?? '').padEnd(5)} ${[messageOf(msg, more), ...errorOf(err, level)].join('\n')}\n`
}

function messageOf(msg: unknown, more: Record<string, JsonValue>): string {
  if (msg === 'request') return `${more.method} ${more.route} ${more.status} ${more.ms} ms`
  const pairs = Object.entries(more).map(([name, value]) => `${name}=${textOf(value)}`)
  return [msg, ...pairs].filter(Boolean).join('  ')
}

const textOf = (value: JsonValue): string =>
  printable(typeof value === 'string' ? value : JSON.stringify(value))

/** Callers choose some of the texts: a terminal must not obey them. */
const printable = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** Where an error comes from matters when it is a fault of ours. */
function errorOf(err: unknown, level: number): string[] {
  if (!isJsonObject(err)) return []
  return [`  ${level >= ERROR ? (err.stack ?? err.message) : err.message}`]
}
