import type { Window } from './dates.rules.ts'
import { ACTIVITIES, type Activity } from './fields.rules.ts'
import type { Filter, FilterTree, Test } from './tree.rules.ts'

export type DescribeOptions = {
  /** The name of a segment, if it has one; its id otherwise. */
  segmentName?: (id: string) => string | undefined
}

/** A part of a sentence; `joint` is the word that holds it together, if there is one. */
type Phrase = { text: string; joint: 'and' | 'or' | null }

/** The tree as a plain English phrase: `plan is "pro" and (opened an email within 30 days or …)`. */
export const describeTree = (tree: FilterTree, options: DescribeOptions = {}): string =>
  treePhrase(tree, options).text

function treePhrase(tree: FilterTree, options: DescribeOptions): Phrase {
  const groups = tree.groups.map(({ filters, conditions }) => {
    const phrases = filters.map((filter): Phrase => ({ text: filterPhrase(filter, options), joint: null }))
    return join(conditions ? [...phrases, treePhrase(conditions, options)] : phrases, 'and')
  })
  return join(groups, tree.logic === 'AND' ? 'and' : 'or')
}

function join(phrases: Phrase[], joint: 'and' | 'or'): Phrase {
  const [first] = phrases
  if (first && phrases.length === 1) return first
  const texts = phrases.map((phrase) =>
    phrase.joint === null || phrase.joint === joint ? phrase.text : `(${phrase.text})`,
  )
  return { text: texts.join(` ${joint} `), joint }
}

function filterPhrase(filter: Filter, { segmentName }: DescribeOptions): string {
  const { test, negated, source } = filter
  switch (test.on) {
    case 'subscribed':
      return test.value === negated ? 'not subscribed' : 'subscribed'
    case 'event':
      return eventPhrase(filter, test)
    case 'segment':
      return `${negated ? 'not in' : 'in'} the segment ${JSON.stringify(segmentName?.(test.id) ?? test.id)}`
    case 'data':
      return `${test.path.join('.')} ${verdict(filter)}`
    case 'context':
      return `${source.field} ${verdict(filter)}`
    default:
      return `${NAME_OF[test.on]} ${verdict(filter)}`
  }
}

const NAME_OF = { email: 'email', createdAt: 'creation date', updatedAt: 'last change' } as const

/** Describes a test of a value. Times are before and after, not less and greater. */
function verdict({ source, test }: Filter): string {
  const value = JSON.stringify(source.value)
  const isDate = isAboutTime(test)
  switch (source.operator) {
    case 'equals':
      return `is ${value}`
    case 'notEquals':
      return `is not ${value}`
    case 'contains':
      return `contains ${value}`
    case 'notContains':
      return `does not contain ${value}`
    case 'greaterThan':
      return `is ${isDate ? 'after' : 'greater than'} ${value}`
    case 'greaterThanOrEqual':
      return `is ${isDate ? 'at or after' : 'at least'} ${value}`
    case 'lessThan':
      return `is ${isDate ? 'before' : 'less than'} ${value}`
    case 'lessThanOrEqual':
      return `is ${isDate ? 'at or before' : 'at most'} ${value}`
    case 'within':
      return `is within the last ${duration(source.value, source.unit)}`
    case 'olderThan':
      return `is more than ${duration(source.value, source.unit)} ago`
    case 'notExists':
      return 'is not set'
    default:
      return 'is set'
  }
}

function isAboutTime(test: Test): boolean {
  if (test.on === 'createdAt' || test.on === 'updatedAt') return true
  return (test.on === 'data' || test.on === 'context') && test.is.is === 'date'
}

const duration = (value: unknown, unit: Window['unit'] = 'days'): string =>
  `${String(value)} ${value === 1 ? unit.slice(0, -1) : unit}`

/** Phrases for what a contact did, and for what it did not. */
const DEED_OF: Record<Activity, [did: string, didNot: string]> = {
  sent: ['was sent an email', 'was not sent an email'],
  delivered: ['received an email', 'did not receive an email'],
  opened: ['opened an email', 'did not open an email'],
  clicked: ['clicked in an email', 'did not click in an email'],
  bounced: ['had an email bounce', 'had no email bounce'],
  complained: ['complained about an email', 'did not complain about an email'],
}

function eventPhrase({ source, negated }: Filter, test: Test & { on: 'event' }): string {
  const activity = ACTIVITIES.find((known) => source.field === `email.${known}`)
  const name = JSON.stringify(test.name)
  const [did, didNot] = activity ? DEED_OF[activity] : [`triggered ${name}`, `did not trigger ${name}`]
  if (test.last.is === 'any') return negated ? `never ${did}` : did
  const length = duration(test.last.window.value, test.last.window.unit)
  if (test.last.is === 'olderThan') return `${did}, but not within ${length}`
  return `${negated ? didNot : did} within ${length}`
}
