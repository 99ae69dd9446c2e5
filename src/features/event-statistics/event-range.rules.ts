import { DAY_MS, isWholeDay, parseInstant } from '../../audience/dates.rules.ts'

const DEFAULT_DAYS = 30
const MAX_DAYS = 90
/** Nothing was recorded before, and Postgres reads no date after. */
const FIRST = 0
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The beginning of its day (UTC). */
export const midnight = (instant: number): number => Math.floor(instant / DAY_MS) * DAY_MS

/** A range of instants: from `from` up to, without, `to`. */
export type Range = { from: Date; to: Date }

/**
 * The range that `startDate` and `endDate` mean; a day without a time counts as a whole day (UTC). Without
 * them it is the last 30 days; of more than 90 days it is the last 90. Returns a text that explains the
 * mistake when they are not valid.
 */
export function readRange(
  startDate: string | null | undefined,
  endDate: string | null | undefined,
  now: Date,
): Range | string {
  const end = endDate ? parseInstant(endDate) : now.getTime() + 1
  if (end === null) return `endDate must be ${DATE}.`
  const endsWithDay = endDate ? isWholeDay(endDate) : false
  const to = endsWithDay ? end + DAY_MS : end
  const start = startDate ? parseInstant(startDate) : midnight(to - DEFAULT_DAYS * DAY_MS)
  if (start === null) return `startDate must be ${DATE}.`
  if (start > to || (endsWithDay && start === to)) return 'startDate must not be after endDate.'
  // Events of other processes may be a little in the future: their clocks may be ahead.
  const beyond = to > now.getTime() ? midnight(to + DAY_MS - 1) : to
  return { from: known(Math.max(start, to - MAX_DAYS * DAY_MS)), to: known(beyond) }
}

const DATE = 'a date such as 2026-03-04 or 2026-03-04T05:06:07Z'

const known = (instant: number): Date => new Date(Math.min(Math.max(instant, FIRST), LAST))

/** The whole days (UTC) inside a range, whose counts are kept, and the rest of it before and after them. */
type Split = { days: { first: string; last: string } | null; before: Range; after: Range }

const dayOf = (instant: number) => new Date(instant).toISOString().slice(0, 10)

export function splitRange({ from, to }: Range, countedFrom: Date): Split {
  const end = midnight(to.getTime())
  const start = midnight(Math.max(from.getTime(), countedFrom.getTime()) + DAY_MS - 1)
  const nothing: Range = { from: to, to }
  if (start >= end) return { days: null, before: { from, to }, after: nothing }
  return {
    days: { first: dayOf(start), last: dayOf(end - 1) },
    before: { from, to: new Date(start) },
    after: { from: new Date(end), to },
  }
}
