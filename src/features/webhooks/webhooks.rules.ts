const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Until a call is tried again after the first try, the second, and so on: eight tries in about a day. */
const RETRY_MS = [
  10 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  15 * HOUR_MS,
] as const
/** Calls that failed together are not repeated together. */
const JITTER = 0.1

/** The answer of a server that wants no more calls (Standard Webhooks; RFC 9110, 15.5.11). */
const GONE = 410

/** What came of one try: an answer, or why there is none. `isRefused`: the address must not be called. */
export type Tried =
  | { status: number; body: string; url: string }
  | { failure: string; isRefused: boolean; url: string }

export type Verdict = {
  status: 'PENDING' | 'SENT' | 'FAILED'
  /** Until the next try; null when there is none. */
  delayMs: number | null
  error: string | null
  isGone: boolean
}

/**
 * What follows from a try, the one with the number `attempts`. Whoever registered an endpoint wants its events however long
 * its server is misconfigured; a step of a workflow fails at once when its call is wrong. `random` is between 0 and 1.
 */
export function verdictOf(tried: Tried, attempts: number, isEndpoints: boolean, random: number): Verdict {
  const isGone = 'status' in tried && tried.status === GONE
  if ('status' in tried && tried.status >= 200 && tried.status < 300) {
    return { status: 'SENT', delayMs: null, error: null, isGone }
  }
  const error = 'status' in tried ? `The answer was ${tried.status}.` : tried.failure
  const usualMs = mayPass(tried, isEndpoints) ? RETRY_MS[attempts - 1] : undefined
  if (usualMs === undefined) return { status: 'FAILED', delayMs: null, error, isGone }
  return { status: 'PENDING', delayMs: usualMs * (1 + JITTER * random), error, isGone }
}

function mayPass(tried: Tried, isEndpoints: boolean): boolean {
  if (!('status' in tried)) return !tried.isRefused
  if (tried.status === GONE) return false
  return isEndpoints || tried.status === 408 || tried.status === 429 || tried.status >= 500
}

/** The families of events that an endpoint can ask for as a whole. */
export const EVENT_FAMILIES = {
  'email.*': [
    'email.sent',
    'email.delivery',
    'email.bounce',
    'email.complaint',
    'email.open',
    'email.click',
    'email.received',
    'email.failed',
    'email.suppressed',
  ],
  'contact.*': ['contact.subscribed', 'contact.unsubscribed'],
} as const

const isFamily = (name: string): name is keyof typeof EVENT_FAMILIES => name in EVENT_FAMILIES

/** The events that an endpoint hears, each by its own name. */
export const eventsHeard = (names: readonly string[]): string[] => [
  ...new Set(names.flatMap((name) => (isFamily(name) ? EVENT_FAMILIES[name] : [name]))),
]
