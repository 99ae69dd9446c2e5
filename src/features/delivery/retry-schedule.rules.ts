const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/**
 * The retry schedule: waits after the first, second, … failed attempt, about 24 hours together; then the message is
 * given up.
 */
const RETRY_WAITS_MS = [
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

export const MAX_ATTEMPTS = RETRY_WAITS_MS.length + 1

/** Waits vary by up to a fifth, so that messages that failed together do not come back together. */
const JITTER = 0.2

/** Returns the milliseconds to wait after attempt number `attempts` failed; null when it was the last one. */
export function retryDelay(attempts: number, random: number): number | null {
  const base = RETRY_WAITS_MS[attempts - 1]
  return base === undefined ? null : Math.round(base * (1 - JITTER + 2 * JITTER * random))
}
