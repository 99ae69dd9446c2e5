const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits after the first, second, … failed attempt. Together about 24 hours; then the message is given up. */
const BACKOFF = [
  1 * MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
]

export const MAX_ATTEMPTS = BACKOFF.length + 1

/** Up to a fifth more or less, so that what failed together does not come back together. */
const JITTER = 0.2

/** How long to wait after attempt number `attempts` failed, in milliseconds; null when it was the last one. */
export function retryDelay(attempts: number, random: number): number | null {
  const base = BACKOFF[attempts - 1]
  return base === undefined ? null : Math.round(base * (1 - JITTER + 2 * JITTER * random))
}

/** A provider's words as Postgres takes them, as text and in JSON: no NUL, no half of a surrogate pair. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()
