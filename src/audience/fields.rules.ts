import { isId } from '../lib/ids.ts'
import type { Operator } from './tree.rules.ts'

const COMPARISONS = ['greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual'] as const
const TEXT = ['equals', 'notEquals', 'contains', 'notContains'] as const
const TIME = ['equals', 'notEquals', ...COMPARISONS, 'within', 'olderThan'] as const
const DATA = [...TEXT, ...COMPARISONS, 'within', 'olderThan', 'exists', 'notExists'] as const
const EVENT = [
  'triggered',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggered',
  'notTriggeredWithin',
] as const

/** The operators of each kind of field. */
export const OPERATORS_OF = {
  email: TEXT,
  subscribed: ['equals', 'notEquals'],
  time: TIME,
  data: DATA,
  event: EVENT,
  segment: ['memberOfSegment', 'notMemberOfSegment'],
} as const satisfies Record<string, readonly Operator[]>

export type FieldKind = keyof typeof OPERATORS_OF

/** Something that happened to a contact's mail, and the event that the service records for it. */
export const EVENT_OF_ACTIVITY = {
  sent: 'email.sent',
  delivered: 'email.delivery',
  opened: 'email.open',
  clicked: 'email.click',
  bounced: 'email.bounce',
  complained: 'email.complaint',
} as const

export type Activity = keyof typeof EVENT_OF_ACTIVITY
export const ACTIVITIES: readonly Activity[] = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
]

/** The meaning of a field name. */
export type Target =
  | { kind: 'email' }
  | { kind: 'subscribed' }
  | { kind: 'time'; column: 'createdAt' | 'updatedAt' }
  | { kind: 'data'; of: 'data' | 'context'; path: string[] }
  | { kind: 'event'; name: string; byPersons: boolean }
  | { kind: 'segment'; id: string }

export type BadField = { code: string; message: string }

const MAX_PATH = 255
const MAX_SEGMENTS = 10
const MAX_EVENT_NAME = 255

const KNOWN_FIELDS =
  'must be email, subscribed, createdAt, updatedAt, data.<path>, event.<name>, email.<activity> or segment.<id>'

/** Reads the name of a field. */
export function targetOf(field: string): Target | BadField {
  if (!field.isWellFormed() || field.includes('\0')) {
    return { code: 'invalid_string', message: 'has characters that cannot be stored' }
  }
  if (field === 'email' || field === 'subscribed') return { kind: field }
  if (field === 'createdAt' || field === 'updatedAt') return { kind: 'time', column: field }
  const dot = field.indexOf('.')
  const rest = field.slice(dot + 1)
  switch (field.slice(0, Math.max(dot, 0))) {
    case 'data':
      return dataTarget(rest, 'data')
    case 'event':
      return eventTarget(rest)
    case 'email':
      return activityTarget(rest)
    case 'segment':
      return segmentTarget(rest)
    default:
      return { code: 'invalid_enum_value', message: KNOWN_FIELDS }
  }
}

/** `event.<path>` of a workflow: a value of the event that it runs for, asked like a value of `data`. */
export function contextTargetOf(field: string): Target | BadField {
  const known = targetOf(field)
  return 'kind' in known ? dataTarget(field.slice('event.'.length), 'context') : known
}

function dataTarget(text: string, of: 'data' | 'context'): Target | BadField {
  if (text.length > MAX_PATH) return tooBig(`must have at most ${MAX_PATH} characters after the first dot`)
  const path = splitPath(text)
  if (path.includes('')) return { code: 'invalid_string', message: 'has a part that is empty' }
  if (path.length > MAX_SEGMENTS) return tooBig(`must have at most ${MAX_SEGMENTS} parts`)
  return { kind: 'data', of, path }
}

function eventTarget(name: string): Target | BadField {
  if (name === '') return { code: 'invalid_string', message: 'names no event' }
  if (name.length > MAX_EVENT_NAME)
    return tooBig(`must name an event of at most ${MAX_EVENT_NAME} characters`)
  return { kind: 'event', name, byPersons: false }
}

/** Scanners and mail programs open and click too (`bot: true`); here the person is meant. */
function activityTarget(text: string): Target | BadField {
  const activity = ACTIVITIES.find((known) => known === text)
  if (!activity) {
    return { code: 'invalid_enum_value', message: `must be email. and one of ${ACTIVITIES.join(', ')}` }
  }
  const byPersons = activity === 'opened' || activity === 'clicked'
  return { kind: 'event', name: EVENT_OF_ACTIVITY[activity], byPersons }
}

function segmentTarget(id: string): Target | BadField {
  return isId(id) ? { kind: 'segment', id: id.toLowerCase() } : { code: 'custom', message: NO_SUCH_SEGMENT }
}

export const NO_SUCH_SEGMENT = 'names a segment that this project does not have'

const tooBig = (message: string): BadField => ({ code: 'too_big', message })

/** The keys of a path: dots part them, `\.` is a dot inside a key, `\\` a backslash. */
function splitPath(text: string): string[] {
  const keys: string[] = []
  let key = ''
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index)
    const next = text.charAt(index + 1)
    if (character === '.') {
      keys.push(key)
      key = ''
    } else if (character === '\\' && (next === '.' || next === '\\')) {
      key += next
      index += 1
    } else key += character
  }
  return [...keys, key]
}

/** The field name of a path in `data`: `['address', 'zip.code']` is `data.address.zip\.code`. */
export const dataField = (path: readonly string[]): string =>
  `data.${path.map((key) => key.replace(/[\\.]/g, '\\$&')).join('.')}`
