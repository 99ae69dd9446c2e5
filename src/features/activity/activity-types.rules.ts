import { DAY_MS, isWholeDay, parseInstant } from '../../audience/dates.rules.ts'

/** Types of entries that stand for an event of the service, by the event's name. */
const TYPE_OF_EVENT: Record<string, string> = {
  'email.sent': 'email.sent',
  'email.delivery': 'email.delivered',
  'email.open': 'email.opened',
  'email.click': 'email.clicked',
  'email.bounce': 'email.bounced',
  'email.complaint': 'email.complaint',
  'email.received': 'email.received',
  'email.suppressed': 'email.suppressed',
  'email.failed': 'email.failed',
  'contact.subscribed': 'contact.subscribed',
  'contact.unsubscribed': 'contact.unsubscribed',
}

/** The type of all other events: those that were tracked, and entries to and exits from segments. */
const TRACKED = 'event.triggered'

/** Where entries come from. Of entries of the same time those of a later source come first. */
export const SOURCES = ['events', 'scheduled', 'sent', 'started', 'completed'] as const
export type Source = (typeof SOURCES)[number]

/** Types of the other sources. */
const TYPE_OF_SOURCE: Record<Exclude<Source, 'events'>, string> = {
  scheduled: 'campaign.scheduled',
  sent: 'campaign.sent',
  started: 'workflow.started',
  completed: 'workflow.completed',
}

/** Every type that an entry can have. */
export const ACTIVITY_TYPES: readonly string[] = [
  TRACKED,
  ...Object.values(TYPE_OF_EVENT),
  ...Object.values(TYPE_OF_SOURCE),
]

/** The type of an entry; `name` is that of an event. */
export const typeOf = (source: Source, name: string | null): string =>
  source === 'events' ? (TYPE_OF_EVENT[name ?? ''] ?? TRACKED) : TYPE_OF_SOURCE[source]

/** Names of events that have a type of their own. */
export const NAMED_EVENTS: readonly string[] = Object.keys(TYPE_OF_EVENT)

/** Which entries are asked for. */
export type Selection = {
  /** Sources to read besides events. */
  sources: Exclude<Source, 'events'>[]
  /** Names of events; null: all of them. */
  names: string[] | null
  /** Events whose names have no type of their own. */
  tracked: boolean
}

/** What has to be read for entries of some types; null: of all. Entries of campaigns are about no contact. */
export function selectionOf(types: readonly string[] | null, contactId: string | null): Selection {
  const isAsked = (type: string) => types === null || types.includes(type)
  const others = ['scheduled', 'sent', 'started', 'completed'] as const
  return {
    sources: others.filter(
      (source) =>
        isAsked(TYPE_OF_SOURCE[source]) &&
        (contactId === null || source === 'started' || source === 'completed'),
    ),
    names: types === null ? null : NAMED_EVENTS.filter((name) => isAsked(TYPE_OF_EVENT[name] ?? '')),
    tracked: isAsked(TRACKED),
  }
}

/** The place of an entry in the feed, which is ordered by time, source and id. `at` is in milliseconds. */
export type Place = { at: number; source: Source; id: string }

const PLACE = /^(\d{1,15}) (\w+) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

export const placeText = ({ at, source, id }: Place): string => `${at} ${source} ${id}`

/** Returns null for a text that is no place. */
export function readPlace(text: string): Place | null {
  const [, at = '', name, id = ''] = PLACE.exec(text) ?? []
  const source = SOURCES.find((known) => known === name)
  return source && Number(at) <= LAST ? { at: Number(at), source, id } : null
}

const DATE = 'a date such as 2026-03-04 or 2026-03-04T05:06:07Z'
const FIRST = 0
const LAST = Date.UTC(9999, 11, 31)

/**
 * The instants from `from` up to, without, `to` that `startDate` and `endDate` mean; days without a time are whole days
 * (UTC), and without the dates there is no end. Returns a text that explains the mistake when they are not valid.
 */
export function readSpan(
  startDate: string | null | undefined,
  endDate: string | null | undefined,
): { from: number; to: number } | string {
  const start = startDate ? parseInstant(startDate) : FIRST
  if (start === null) return `startDate must be ${DATE}.`
  const end = endDate ? parseInstant(endDate) : LAST
  if (end === null) return `endDate must be ${DATE}.`
  const to = endDate && isWholeDay(endDate) ? end + DAY_MS : end
  if (start >= to) return 'startDate must be before endDate.'
  return { from: Math.min(Math.max(start, FIRST), LAST), to: Math.min(Math.max(to, FIRST), LAST) }
}
