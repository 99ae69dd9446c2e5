import { instantOf, wallTime } from '../../../lib/zoned-time.ts'

const DAY_MS = 86_400_000
const MS_OF = { minutes: 60_000, hours: 3_600_000, days: DAY_MS } as const

export const DELAY_UNITS = ['minutes', 'hours', 'days'] as const
/** The longest delay. */
export const MAX_DELAY_MS = 365 * DAY_MS

export const delayMs = (amount: number, unit: (typeof DELAY_UNITS)[number]): number => amount * MS_OF[unit]

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/
const LOCAL = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/
const INSTANT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]\d\d:[0-5]\d)$/

const isDate = (text: string): boolean => {
  const [day = ''] = text.split('T')
  const time = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

export const isUntil = (text: string): boolean =>
  TIME_OF_DAY.test(text) || ((LOCAL.test(text) || INSTANT.test(text)) && isDate(text))

/**
 * The instant that a text stands for: an ISO 8601 time with its offset, one of a clock in the zone, or the next time at
 * which that clock shows `HH:MM`.
 */
export function readUntil(text: string, timeZone: string, now: Date): Date {
  const [, hour, minute] = TIME_OF_DAY.exec(text) ?? []
  if (hour === undefined) {
    return new Date(LOCAL.test(text) ? instantOf(Date.parse(`${text}Z`), timeZone) : Date.parse(text))
  }
  const midnight = Math.floor(wallTime(now.getTime(), timeZone) / DAY_MS) * DAY_MS
  const wall = midnight + Number(hour) * MS_OF.hours + Number(minute) * MS_OF.minutes
  const today = instantOf(wall, timeZone)
  return new Date(today > now.getTime() ? today : instantOf(wall + DAY_MS, timeZone))
}
