/*
 * Times of a clock on the wall, as milliseconds that its figures would be in UTC. Zones are those of the IANA database, as
 * `Intl` knows them.
 */

const DAY_MS = 86_400_000

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** A clock in the zone: what it shows at an instant. It is made once for many instants, because that takes longest. */
export function clockIn(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    ...{ timeZone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  })
  return (instant) => {
    const parts = Object.fromEntries(
      format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
    )
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    const milliseconds = ((instant % 1_000) + 1_000) % 1_000
    return Date.UTC(year, month - 1, day, hour, minute, second) + milliseconds
  }
}

/** What a clock in the zone shows at an instant. */
export const wallTime = (instant: number, timeZone: string): number => clockIn(timeZone)(instant)

/**
 * The instant at which a clock in the zone shows a time. A time that it shows twice is the first one; one that it leaves out
 * (clocks go forward) is as much later as it leaves out, as in RFC 5545, 3.3.5.
 */
export function instantOf(wall: number, timeZone: string, clock = clockIn(timeZone)): number {
  const offsetAt = (instant: number) => clock(instant) - instant
  const [before, after] = [offsetAt(wall - DAY_MS), offsetAt(wall + DAY_MS)]
  const found = [wall - before, wall - after].filter((instant) => clock(instant) === wall)
  return found.length > 0 ? Math.min(...found) : wall - before
}
