import type { Body } from '../support/service.ts'

/*
 * What filter trees mean, written down once more in the most direct way: on the JSON as it is given, on rows as
 * they are in the tables, one operator after the other. It shares nothing with the code that it checks.
 */

export type Person = {
  id: string
  email: string
  subscribed: boolean
  createdAt: Date
  updatedAt: Date
  data: Body
  events: { name: string; at: Date; data: Body }[]
  memberOf: string[]
}

/** Conditions of the segments without stored members, by their id, as JSON. */
export type Conditions = Record<string, Body>

export function naiveTree(tree: Body, person: Person, now: Date, conditions: Conditions): boolean {
  const results = tree.groups.map((group: Body) => {
    for (const filter of group.filters) if (!naiveFilter(filter, person, now, conditions)) return false
    return group.conditions ? naiveTree(group.conditions, person, now, conditions) : true
  })
  return tree.logic === 'AND' ? results.every(Boolean) : results.some(Boolean)
}

function naiveFilter(filter: Body, person: Person, now: Date, conditions: Conditions): boolean {
  const { field, operator, value } = filter
  if (field === 'email') return naiveEmail(operator, value.toLowerCase(), person.email)
  if (field === 'subscribed') return (person.subscribed === value) === (operator === 'equals')
  if (field === 'createdAt') return naiveValue(filter, person.createdAt.toISOString(), now)
  if (field === 'updatedAt') return naiveValue(filter, person.updatedAt.toISOString(), now)
  if (field.startsWith('data.')) return naiveValue(filter, dig(person.data, keysOf(field.slice(5))), now)
  if (field.startsWith('segment.')) {
    const id = field.slice(8)
    const member = conditions[id]
      ? naiveTree(conditions[id], person, now, conditions)
      : person.memberOf.includes(id)
    return operator === 'memberOfSegment' ? member : !member
  }
  return naiveEvent(filter, person, now)
}

function naiveEmail(operator: string, value: string, email: string): boolean {
  switch (operator) {
    case 'equals':
      return email === value
    case 'notEquals':
      return email !== value
    case 'contains':
      return email.indexOf(value) >= 0
    default:
      return email.indexOf(value) < 0
  }
}

/** No key of the tests has a tab or two backslashes in a row. */
const keysOf = (path: string): string[] =>
  path
    .replaceAll('\\.', '\t')
    .split('.')
    .map((key) => key.replaceAll('\t', '.'))

function dig(data: Body, keys: string[]): Body {
  let value = data
  for (const key of keys) {
    if (Object.prototype.toString.call(value) !== '[object Object]') return undefined
    const found = Object.entries(value).find(([name]) => name === key)
    if (!found) return undefined
    value = found[1]
  }
  return value
}

function naiveValue({ operator, value, unit }: Body, actual: Body, now: Date): boolean {
  switch (operator) {
    case 'exists':
      return actual !== undefined && actual !== null
    case 'notExists':
      return actual === undefined || actual === null
    case 'equals':
      return naiveEqual(actual, value)
    case 'notEquals':
      return !naiveEqual(actual, value)
    case 'contains':
      return naiveContains(actual, value)
    case 'notContains':
      return !naiveContains(actual, value)
    case 'within':
      return naiveTime(actual) !== null && Number(naiveTime(actual)) >= now.getTime() - length(value, unit)
    case 'olderThan':
      return naiveTime(actual) !== null && Number(naiveTime(actual)) < now.getTime() - length(value, unit)
    default:
      return naiveCompare(operator, actual, value)
  }
}

const length = (value: number, unit: string): number =>
  value * 60_000 * (unit === 'days' ? 24 * 60 : unit === 'hours' ? 60 : 1)

function naiveEqual(actual: Body, value: Body): boolean {
  if (naiveTime(value) === null) return typeof actual === typeof value && actual === value
  const time = naiveTime(actual)
  if (time === null) return false
  if (value.length === 10) return dayOf(time) === value
  return time === naiveTime(value)
}

const dayOf = (time: number): string => new Date(time).toISOString().split('T')[0] ?? ''

function naiveContains(actual: Body, value: Body): boolean {
  if (Array.isArray(actual)) return actual.some((item) => typeof item === typeof value && item === value)
  return typeof actual === 'string' && typeof value === 'string' && actual.split(value).length > 1
}

function naiveCompare(operator: string, actual: Body, value: Body): boolean {
  const [left, right] = comparable(actual, value)
  if (left === undefined || right === undefined) return false
  const order = left < right ? -1 : left > right ? 1 : 0
  if (operator === 'greaterThan') return order === 1
  if (operator === 'greaterThanOrEqual') return order !== -1
  if (operator === 'lessThan') return order === -1
  return order !== 1
}

/** Two values of one kind, in a form that JavaScript orders as it should. */
function comparable(actual: Body, value: Body): [] | [number, number] | [string, string] {
  if (typeof actual !== typeof value) return []
  if (typeof value === 'number') return [actual, value]
  const time = naiveTime(value)
  if (time === null) return [codePoints(actual), codePoints(value)]
  const other = naiveTime(actual)
  return other === null ? [] : [other, time]
}

const codePoints = (text: string): string =>
  [...text].map((character) => (character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')).join('')

/** Milliseconds since 1970 of a text that is a date. */
export function naiveTime(text: Body): number | null {
  if (typeof text !== 'string') return null
  const parts =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?$/.exec(
      text,
    )
  if (!parts) return null
  const at = (index: number) => Number(parts[index] ?? 0)
  const time = new Date(0)
  time.setUTCFullYear(at(1), at(2) - 1, at(3))
  if (at(1) === 0 || time.getUTCMonth() !== at(2) - 1 || time.getUTCDate() !== at(3)) return null
  if (at(4) > 23 || at(5) > 59 || at(6) > 59 || at(10) > 14 || at(11) > 59) return null
  time.setUTCHours(at(4), at(5), at(6), Number(`${parts[7] ?? ''}000`.slice(0, 3)))
  const offset = (at(10) * 60 + at(11)) * 60_000
  return time.getTime() - (parts[9] === '-' ? -offset : offset)
}

function naiveEvent({ field, operator, value, unit }: Body, person: Person, now: Date): boolean {
  const activity: Record<string, string> = {
    'email.sent': 'email.sent',
    'email.delivered': 'email.delivery',
    'email.opened': 'email.open',
    'email.clicked': 'email.click',
    'email.bounced': 'email.bounce',
    'email.complained': 'email.complaint',
  }
  const name = activity[field] ?? field.slice('event.'.length)
  const ofPersons = field === 'email.opened' || field === 'email.clicked'
  const all = person.events.filter((event) => event.name === name && !(ofPersons && event.data.bot === true))
  const inside = all.filter((event) => event.at.getTime() >= now.getTime() - length(value ?? 0, unit))
  switch (operator) {
    case 'triggered':
      return all.length > 0
    case 'notTriggered':
      return all.length === 0
    case 'triggeredWithin':
      return inside.length > 0
    case 'notTriggeredWithin':
      return inside.length === 0
    default:
      return all.length > 0 && inside.length === 0
  }
}
