import type { JsonObject, JsonValue } from '../lib/json.ts'
import { passesDataTest } from './data-test.rules.ts'
import { isInside, spanAt, startOf } from './dates.rules.ts'
import {
  type Audience,
  type EventTest,
  type Filter,
  type FilterSource,
  type FilterTree,
  filtersOf,
  type Logic,
  segmentOf,
  type Test,
  valueAt,
} from './tree.rules.ts'

/** When a contact's last event of a name was, and the last one that was not a machine's (`bot: true`). */
export type LastEvent = { at: Date; byPerson: Date | null }

/** One contact with all that filters ask for. */
export type Subject = {
  contact: { email: string; subscribed: boolean; createdAt: Date; updatedAt: Date; data: JsonObject }
  /** By the name of the event; names that never happened are not there. */
  events: ReadonlyMap<string, LastEvent>
  /** The stored segments that have the contact as a member. */
  segments: ReadonlySet<string>
  /** The data of the event that a workflow runs for. */
  context?: JsonObject
}

/** Whether the audience has the contact: the same meaning as the compiled condition, in memory. */
export const matchTree = (audience: Audience, subject: Subject, now: Date): boolean =>
  matches({ audience, subject, now }, audience.tree)

/** Characters of texts, and elements of lists, that `matchTree` may have to search through: most of what it costs. */
export function searchedBy(audience: Audience, subject: Subject): number {
  let searched = 0
  for (const { filter } of filtersOf(audience.tree)) {
    const { test } = filter
    if (test.on === 'segment') {
      const source = segmentOf(audience, test.id)
      if (source.members === 'computed')
        searched += searchedBy({ ...audience, tree: source.condition }, subject)
    } else if ((test.on === 'data' || test.on === 'context') && test.is.is === 'containing') {
      const value = dataOf(subject, test)
      if (typeof value === 'string' || Array.isArray(value)) searched += value.length
    }
  }
  return searched
}

type Matcher = { audience: Audience; subject: Subject; now: Date }

function matches(matcher: Matcher, tree: FilterTree): boolean {
  const { groups } = tree
  return tree.logic === 'AND'
    ? groups.every((group) => groupMatches(matcher, group))
    : groups.some((group) => groupMatches(matcher, group))
}

const groupMatches = (matcher: Matcher, { filters, conditions }: FilterTree['groups'][number]): boolean =>
  filters.every((filter) => filterMatches(matcher, filter)) &&
  (conditions === null || matches(matcher, conditions))

const filterMatches = (matcher: Matcher, { test, negated }: Filter): boolean =>
  passes(matcher, test) !== negated

function passes(matcher: Matcher, test: Test): boolean {
  const { audience, subject, now } = matcher
  const { contact } = subject
  switch (test.on) {
    case 'email':
      return test.is === 'equal' ? contact.email === test.text : contact.email.includes(test.text)
    case 'subscribed':
      return contact.subscribed === test.value
    case 'createdAt':
    case 'updatedAt':
      return isInside(contact[test.on].getTime(), spanAt(test.is, now))
    case 'data':
    case 'context':
      return passesDataTest(test.is, dataOf(subject, test), now)
    case 'event':
      return passesEventTest(test.last, lastOf(subject, test), now)
    case 'segment': {
      const source = segmentOf(audience, test.id)
      return source.members === 'stored' ? subject.segments.has(test.id) : matches(matcher, source.condition)
    }
  }
}

const dataOf = (subject: Subject, test: Test & { on: 'data' | 'context' }): JsonValue | undefined =>
  valueAt(test.on === 'data' ? subject.contact.data : (subject.context ?? {}), test.path)

function lastOf({ events }: Subject, test: Test & { on: 'event' }): Date | null {
  const last = events.get(test.name)
  return (test.byPersons ? last?.byPerson : last?.at) ?? null
}

function passesEventTest(test: EventTest, last: Date | null, now: Date): boolean {
  if (last === null || test.is === 'any') return last !== null
  return last.getTime() >= startOf(test.window, now) === (test.is === 'within')
}

/** A tree with the result of each node for one contact. */
export type Explanation = { matches: boolean; logic: Logic; groups: ExplainedGroup[] }
export type ExplainedGroup = { matches: boolean; filters: ExplainedFilter[]; conditions: Explanation | null }
export type ExplainedFilter = FilterSource & {
  matches: boolean
  /**
   * The contact's fact: the value, the time of the last event (ISO 8601), whether it is a member; null: none.
   */
  actual: JsonValue
  /** The condition of a segment that has no stored members. */
  segment: Explanation | null
}

/** Why the audience has the contact or not: every node is looked at, also where `matchTree` need not. */
export const explainTree = (audience: Audience, subject: Subject, now: Date): Explanation =>
  explained({ audience, subject, now }, audience.tree)

function explained(matcher: Matcher, tree: FilterTree): Explanation {
  const groups = tree.groups.map(({ filters: asked, conditions: inner }): ExplainedGroup => {
    const filters = asked.map((filter) => explainedFilter(matcher, filter))
    const conditions = inner && explained(matcher, inner)
    const all = filters.every((filter) => filter.matches) && (conditions?.matches ?? true)
    return { matches: all, filters, conditions }
  })
  const found = groups.map((group) => group.matches)
  return {
    matches: tree.logic === 'AND' ? !found.includes(false) : found.includes(true),
    logic: tree.logic,
    groups,
  }
}

function explainedFilter(matcher: Matcher, filter: Filter): ExplainedFilter {
  const { test, source } = filter
  const segment = test.on === 'segment' ? segmentOf(matcher.audience, test.id) : null
  const computed = segment?.members === 'computed' ? explained(matcher, segment.condition) : null
  return {
    ...source,
    matches: filterMatches(matcher, filter),
    actual: computed ? computed.matches : actualOf(matcher.subject, test),
    segment: computed,
  }
}

function actualOf(subject: Subject, test: Test): JsonValue {
  const { contact } = subject
  switch (test.on) {
    case 'email':
    case 'subscribed':
      return contact[test.on]
    case 'createdAt':
    case 'updatedAt':
      return contact[test.on].toISOString()
    case 'data':
    case 'context':
      return dataOf(subject, test) ?? null
    case 'event':
      return lastOf(subject, test)?.toISOString() ?? null
    case 'segment':
      return subject.segments.has(test.id)
  }
}
