import { DAY_MS, isWholeDay, parseInstant } from '../../audience/dates.rules.ts'
import { clockIn, instantOf, isTimeZone } from '../../lib/zoned-time.ts'

const DEFAULT_DAYS = 30
const MAX_DAYS = 90
const HOUR_MS = 3_600_000
/** Mail is counted by quarters of hours: the offsets of all time zones are multiples of them. */
export const QUARTER_MS = 900_000
/** Nothing was counted before, and Postgres reads no date after. */
const FIRST = 0
const LAST = Date.UTC(9999, 11, 31)

export type RangeRequest = {
  startDate?: string | null | undefined
  endDate?: string | null | undefined
  tz?: string | null | undefined
}

/** A day of a time zone, `2026-03-04`, and the instants at which it begins and ends. */
export type ZonedDay = { date: string; from: number; to: number }

/** Instants from `from` up to, without, `to`, and the days of the time zone that they are in. */
export type MailRange = { from: Date; to: Date; days: ZonedDay[]; timeZone: string }

const DATE = 'a date such as 2026-03-04 or 2026-03-04T05:06:07Z'

/**
 * The range that `startDate` and `endDate` mean. A day without a time is a whole day of the time zone; a time is taken to
 * the quarter of an hour. Without them it is today and the 29 days before; of more than 90 days it is the last 90. Returns
 * a text that explains the mistake when they are not valid.
 */
export function readMailRange({ startDate, endDate, tz }: RangeRequest, now: Date): MailRange | string {
  const timeZone = tz || 'UTC'
  if (!isTimeZone(timeZone)) return 'tz must be the name of a time zone, such as Europe/Berlin.'
  const clock = clockIn(timeZone)
  const startOf = (day: number) => instantOf(day, timeZone, clock)
  const dayAt = (instant: number) => Math.floor(clock(instant) / DAY_MS) * DAY_MS
  const end = endDate ? parseInstant(endDate) : null
  if (endDate && end === null) return `endDate must be ${DATE}.`
  const isDay = !!endDate && isWholeDay(endDate)
  const last = end === null ? dayAt(now.getTime()) : isDay ? end : dayAt(end - 1)
  const to = end === null || isDay ? startOf(last + DAY_MS) : end
  const start = startDate ? parseInstant(startDate) : null
  if (startDate && start === null) return `startDate must be ${DATE}.`
  const asked =
    start === null
      ? startOf(last - (DEFAULT_DAYS - 1) * DAY_MS)
      : startDate && isWholeDay(startDate)
        ? startOf(start)
        : start
  if (asked >= to) return 'startDate must be before endDate.'
  const from = Math.max(asked, startOf(last - (MAX_DAYS - 1) * DAY_MS))
  const days: ZonedDay[] = []
  for (let day = dayAt(from), begin = startOf(day); day <= last; day += DAY_MS) {
    const next = startOf(day + DAY_MS)
    days.push({ date: new Date(day).toISOString().slice(0, 10), from: begin, to: next })
    begin = next
  }
  return {
    from: known(Math.floor(from / QUARTER_MS) * QUARTER_MS),
    to: known(Math.ceil(to / QUARTER_MS) * QUARTER_MS),
    days,
    timeZone,
  }
}

const known = (instant: number): Date => new Date(Math.min(Math.max(instant, FIRST), LAST))

/** When the days of a range begin. */
export const startsOf = (days: ZonedDay[]): Date[] => days.map(({ from }) => known(from))

/** When each hour of the days begins, and which hour of the day (0 to 23) it is by the clocks of the zone. */
export function hoursOf({ days, timeZone }: MailRange): { start: Date; hour: number }[] {
  const clock = clockIn(timeZone)
  return days.flatMap(({ from, to }) => {
    // On the day on which clocks are changed an hour may be missing, come twice, or be half an hour long.
    const isUsual = to - from === DAY_MS
    const step = isUsual ? HOUR_MS : QUARTER_MS
    const hours: { start: Date; hour: number }[] = []
    for (let at = from; at < to; at += step) {
      const hour = isUsual ? (at - from) / HOUR_MS : Math.floor((clock(at) % DAY_MS) / HOUR_MS)
      if (hours.at(-1)?.hour !== hour) hours.push({ start: known(at), hour })
    }
    return hours
  })
}
