const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Mail that was put off to a day begins to leave within this time after midnight. */
const SPREAD_MS = HOUR_MS

/** How many messages the days of a schedule before the day at `index` allow together. */
export const allowedBefore = (limits: readonly number[], index: number): number =>
  limits.slice(0, index).reduce((sum, limit) => sum + limit, 0)

/**
 * When a message may leave, in milliseconds after the midnight at which the schedule begins, by its place in the line of all
 * messages of the schedule, from 0 on. The day after the last one has room for all.
 */
export function turnOf(limits: readonly number[], place: number): number {
  let before = 0
  for (const [index, limit] of limits.entries()) {
    if (place < before + limit) return index * DAY_MS + ((place - before) / limit) * SPREAD_MS
    before += limit
  }
  const last = limits.at(-1) ?? 1
  return limits.length * DAY_MS + Math.min(1, (place - before) / last) * SPREAD_MS
}
