import { instantOf, wallTime } from './zoned-time.ts'

/** The minutes at which something happens, as cron (POSIX, crontab) has them. */
export type Cron = {
  minutes: number[]
  hours: number[]
  /** Days of the month, months from 1, and days of the week from Sunday, which is 0. */
  days: Set<number>
  months: Set<number>
  weekdays: Set<number>
  /** Whether a day has to be right in the month and in the week; when both are restricted, one of them is enough. */
  both: boolean
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const ITEM = /^(?:\*|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** No clock goes forward or back by more, but where a country changes its zone for good. */
const LONGEST_CHANGE_MS = 2 * 3_600_000
/** The 29th of February on a certain day of the week comes after 40 years at the latest. */
const MAX_DAYS = 40 * 366

type Field = { from: number; to: number; names?: string[]; first?: number }

/** Reads the five fields of an expression such as `0 9 * * mon-fri`; null for others. */
export function parseCron(text: string): Cron | null {
  const fields = text.trim().toLowerCase().split(/\s+/)
  const [minute, hour, day, month, weekday] = fields
  if (fields.length !== 5 || !minute || !hour || !day || !month || !weekday) return null
  const minutes = valuesOf(minute, { from: 0, to: 59 })
  const hours = valuesOf(hour, { from: 0, to: 23 })
  const days = valuesOf(day, { from: 1, to: 31 })
  const months = valuesOf(month, { from: 1, to: 12, names: MONTHS, first: 1 })
  const weekdays = valuesOf(weekday, { from: 0, to: 7, names: WEEKDAYS, first: 0 })
  if (!minutes || !hours || !days || !months || !weekdays) return null
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((one) => one % 7)),
    both: day.startsWith('*') || weekday.startsWith('*'),
  }
}

function valuesOf(text: string, field: Field): number[] | null {
  const found = new Set<number>()
  for (const item of text.split(',')) {
    const [whole, low, high, step] = ITEM.exec(item) ?? []
    if (whole === undefined) return null
    const from = low === undefined ? field.from : numberOf(low, field)
    const to = high === undefined ? (low === undefined || step ? field.to : from) : numberOf(high, field)
    const by = Number(step ?? 1)
    if (!(from >= field.from && to <= field.to && from <= to && by > 0)) return null
    for (let value = from; value <= to; value += by) found.add(value)
  }
  return [...found].toSorted((a, b) => a - b)
}

function numberOf(text: string, { names = [], first = 0 }: Field): number {
  const place = names.indexOf(text)
  return place >= 0 ? place + first : Number(text)
}

/**
 * The first time after an instant, by a clock in the zone; null when there is none. What the clock leaves out happens as much
 * later, and what it shows twice happens once.
 */
export function nextTime(cron: Cron, after: Date, timeZone: string): Date | null {
  const wallNow = wallTime(after.getTime(), timeZone)
  const today = Math.floor(wallNow / DAY_MS) * DAY_MS
  for (let day = 0; day < MAX_DAYS; day += 1) {
    const midnight = today + day * DAY_MS
    if (!isDay(cron, new Date(midnight))) continue
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const wall = midnight + (hour * 60 + minute) * MINUTE_MS
        if (wall < wallNow - LONGEST_CHANGE_MS) continue
        const instant = instantOf(wall, timeZone)
        if (instant > after.getTime()) return new Date(instant)
      }
    }
  }
  return null
}

function isDay({ days, months, weekdays, both }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const [inMonth, inWeek] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())]
  return both ? inMonth && inWeek : inMonth || inWeek
}
