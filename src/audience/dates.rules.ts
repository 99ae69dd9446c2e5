export const UNITS = ['minutes', 'hours', 'days'] as const
export type Unit = (typeof UNITS)[number]

/** A length of time, as a filter gives it. */
export type Window = { value: number; unit: Unit }

/*
 * A date is `2026-03-04` (midnight UTC) or `2026-03-04T05:06[:07[.089…]][Z|+hh:mm|+hhmm]`, with a blank in place
 * of the T if need be, and in UTC unless it says otherwise. The grammar holds the length of every month, so
 * that what fits can be cast by Postgres without an error, and is written for both kinds of regular
 * expressions. Times are compared in whole milliseconds: what is finer is cut off.
 */
const DAY = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)`
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?'
const ZONE = '(?:Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])'

/** Without the year 0000, which it fits and which there is not: texts below FIRST_YEAR have to be kept out. */
export const DATE_GRAMMAR = `^${DAY}(?:[T ]${TIME}${ZONE}?)?$`
const FIRST_YEAR = '0001'
/**
 * Matches texts that fit DATE_GRAMMAR and give their zone in figures. A date without a time never matches.
 */
export const OFFSET_GRAMMAR = '[+-][0-9]{2}:?[0-9]{2}$'
export const FINER_THAN_MILLISECONDS = '([.][0-9]{3})[0-9]+'

const DATE = new RegExp(DATE_GRAMMAR)
const HAS_OFFSET = new RegExp(OFFSET_GRAMMAR)
const FINER = new RegExp(FINER_THAN_MILLISECONDS)
const WHOLE_DAY = /^\d{4}-\d\d-\d\d$/
const LIKE_A_DATE = /^\d{4}-\d\d-\d\d(?:[T ].*)?$/s

export const DAY_MS = 86_400_000
const MS_OF = { minutes: 60_000, hours: 3_600_000, days: DAY_MS } as const

export const millisecondsOf = ({ value, unit }: Window): number => value * MS_OF[unit]

/** Milliseconds since 1970 of a text that is a date; null for any other. */
export function parseInstant(text: string): number | null {
  if (text < FIRST_YEAR || !DATE.test(text)) return null
  const cut = text.replace(' ', 'T').replace(FINER, '$1')
  if (cut.length === 10) return Date.parse(cut)
  if (HAS_OFFSET.test(cut)) return Date.parse(cut.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'))
  return Date.parse(cut.endsWith('Z') ? cut : `${cut}Z`)
}

export const isWholeDay = (text: string): boolean => WHOLE_DAY.test(text)

/** Meant as a date, whether or not there is such a day. */
export const looksLikeDate = (text: string): boolean => LIKE_A_DATE.test(text)

/** Times from `from` on and before `before`; null leaves an end open. Milliseconds since 1970. */
export type Span = { from: number | null; before: number | null }

/** Inside a span, which may be relative to now: within the window or before it. */
export type TimeTest = { is: 'span'; span: Span } | { is: 'within' | 'olderThan'; window: Window }

export type Comparison = 'greaterThan' | 'greaterThanOrEqual' | 'lessThan' | 'lessThanOrEqual'

/** The times equal to a date: the whole day of `YYYY-MM-DD`, otherwise that millisecond. */
export const spanOfEqual = (instant: number, wholeDay: boolean): Span => ({
  from: instant,
  before: instant + (wholeDay ? DAY_MS : 1),
})

export function spanOfComparison(comparison: Comparison, instant: number): Span {
  switch (comparison) {
    case 'greaterThan':
      return { from: instant + 1, before: null }
    case 'greaterThanOrEqual':
      return { from: instant, before: null }
    case 'lessThan':
      return { from: null, before: instant }
    case 'lessThanOrEqual':
      return { from: null, before: instant + 1 }
  }
}

/** The start of a window that ends now. */
export const startOf = (window: Window, now: Date): number => now.getTime() - millisecondsOf(window)

export function spanAt(test: TimeTest, now: Date): Span {
  if (test.is === 'span') return test.span
  const start = startOf(test.window, now)
  return test.is === 'within' ? { from: start, before: null } : { from: null, before: start }
}

export const isInside = (instant: number, { from, before }: Span): boolean =>
  (from === null || instant >= from) && (before === null || instant < before)

/** A year as Postgres reads it: no sign before a fifth digit, and the year before the first is 1 BC. */
export function timestampText(instant: number): string {
  const text = new Date(instant).toISOString()
  return text.startsWith('0000') ? `${text.replace('0000', '0001')} BC` : text.replace(/^\+0*/, '')
}

/** The widest difference of a zone to UTC that the grammar has, and a millisecond. */
const WIDEST_OFFSET_MS = 15 * 3_600_000

/**
 * Between which texts the dates inside a span are, in the order of code points, wherever they were written. A
 * comparison with these costs little and leaves few texts for the grammar to be tried on.
 */
export function textBounds({ from, before }: Span): { from: string; before: string | null } {
  const first = from === null ? FIRST_YEAR : dayOf(from - WIDEST_OFFSET_MS)
  const last = before === null ? null : dayOf(before + WIDEST_OFFSET_MS + DAY_MS)
  return { from: first < FIRST_YEAR ? FIRST_YEAR : first, before: last?.length === 10 ? last : null }
}

/** Years from 10000 on come out longer. */
const dayOf = (instant: number): string => new Date(instant).toISOString().replace(/T.*/, '')
