import { normalizeEmail } from '../../messages/email-address.rules.ts'
import type { DataTest } from '../data-test.rules.ts'
import {
  type Comparison,
  DAY_MS,
  isWholeDay,
  looksLikeDate,
  millisecondsOf,
  parseInstant,
  spanOfComparison,
  spanOfEqual,
  type TimeTest,
  UNITS,
  type Window,
} from '../dates.rules.ts'
import { contextTargetOf, OPERATORS_OF, type Target, targetOf } from '../fields.rules.ts'
import {
  type EventTest,
  type Filter,
  type FilterSource,
  OPERATORS,
  type Operator,
  type Test,
} from '../tree.rules.ts'
import { type Node, partOf, readScalar, readText, readWord, refuse } from './read-node.rules.ts'

/** A century; it keeps every start of a window a date that everything can say. */
const MAX_WINDOW_MS = 36_500 * DAY_MS

/** Operators that say the opposite of another one, whatever is asked. */
const OPPOSITE_OF = {
  notEquals: 'equals',
  notContains: 'contains',
  notExists: 'exists',
  notTriggered: 'triggered',
  notTriggeredWithin: 'triggeredWithin',
  notMemberOfSegment: 'memberOfSegment',
} as const

type Negative = keyof typeof OPPOSITE_OF
type Positive = Exclude<Operator, Negative>

const isNegative = (operator: Operator): operator is Negative => Object.hasOwn(OPPOSITE_OF, operator)

/** Whether `event.<path>` may also ask for a value of the event that a workflow runs for. */
export type FilterOptions = { context: boolean }

/** Reads one filter; null when something is wrong with it. Unknown keys are ignored. */
export function readFilter(node: Node, options: FilterOptions): Filter | null {
  const field = readField(node)
  const target = field === null ? null : readTarget(node, field, options)
  const operator = readWord(node, 'operator', OPERATORS)
  if (field === null || target === null || operator === null) return null
  if (!isOf(target.kind, operator)) {
    const allowed = OPERATORS_OF[target.kind].join(', ')
    return refuse(node, 'operator', 'invalid_enum_value', `must be one of ${allowed} for this field`)
  }
  const negated = isNegative(operator)
  const test = readTest(node, target, isNegative(operator) ? OPPOSITE_OF[operator] : operator)
  return test && { source: sourceOf(node, field, operator, test), negated, test }
}

function readField(node: Node): string | null {
  const field = partOf(node, 'field')
  if (typeof field === 'string') return field
  if (field === undefined) return refuse(node, 'field', 'required', 'is required')
  return refuse(node, 'field', 'invalid_type', 'must be a string')
}

function readTarget(node: Node, field: string, { context }: FilterOptions): Target | null {
  const asksContext = context && field.startsWith('event.') && isOf('data', partOf(node, 'operator'))
  const target = asksContext ? contextTargetOf(field) : targetOf(field)
  return 'kind' in target ? target : refuse(node, 'field', target.code, target.message)
}

const isOf = (kind: Target['kind'], operator: unknown): boolean =>
  OPERATORS_OF[kind].some((known) => known === operator)

/** Keeps of value and unit what the operator has asked for; both have been checked then. */
function sourceOf(node: Node, field: string, operator: Operator, test: Test): FilterSource {
  const { value, unit } = node.json
  const source: FilterSource = { field, operator }
  if (takesNoValue(test)) return source
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    source.value = value
  const known = WINDOWED.has(operator) ? UNITS.find((word) => word === unit) : undefined
  if (known) source.unit = known
  return source
}

const WINDOWED: ReadonlySet<Operator> = new Set([
  'within',
  'olderThan',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
])

function takesNoValue(test: Test): boolean {
  if (test.on === 'segment') return true
  if (test.on === 'event') return test.last.is === 'any'
  return (test.on === 'data' || test.on === 'context') && test.is.is === 'present'
}

function readTest(node: Node, target: Target, operator: Positive): Test | null {
  switch (target.kind) {
    case 'email':
      return readEmailTest(node, operator)
    case 'subscribed': {
      const value = readScalar(node, 'value')
      if (value === null) return null
      if (typeof value !== 'boolean') return refuse(node, 'value', 'invalid_type', 'must be true or false')
      return { on: 'subscribed', value }
    }
    case 'time': {
      const test = readTimeTest(node, operator)
      return test && { on: target.column, is: test }
    }
    case 'data': {
      const test = readDataTest(node, operator)
      return test && { on: target.of, path: target.path, is: test }
    }
    case 'event': {
      const last = readEventTest(node, operator)
      return last && { on: 'event', name: target.name, byPersons: target.byPersons, last }
    }
    case 'segment':
      return { on: 'segment', id: target.id }
  }
}

/** Addresses are stored in lower case, and international domains in one form. */
function readEmailTest(node: Node, operator: Positive): Test | null {
  const text = operator === 'equals' ? readText(node, 'value') : readPart(node)
  if (typeof text !== 'string') return null
  return operator === 'equals'
    ? { on: 'email', is: 'equal', text: normalizeEmail(text) }
    : { on: 'email', is: 'containing', text: text.toLowerCase() }
}

/** Every text contains the empty text, so an empty value means that the user forgot to fill the field. */
function readPart(node: Node): string | null {
  const text = readText(node, 'value')
  return text === '' ? refuse(node, 'value', 'too_small', 'must not be empty') : text
}

function readTimeTest(node: Node, operator: Positive): TimeTest | null {
  if (operator === 'within' || operator === 'olderThan') {
    const window = readWindow(node)
    return window && { is: operator, window }
  }
  const text = readText(node, 'value')
  if (text === null) return null
  return timeTestOf(text, operator) ?? refuseDate(node)
}

const refuseDate = (node: Node) =>
  refuse(node, 'value', 'invalid_date', 'must be a date such as 2026-03-04 or 2026-03-04T05:06:07Z')

/** Equality or a comparison with a date; null when the text is none. */
function timeTestOf(text: string, operator: Positive): TimeTest | null {
  const instant = parseInstant(text)
  if (instant === null) return null
  return isComparison(operator)
    ? { is: 'span', span: spanOfComparison(operator, instant) }
    : { is: 'span', span: spanOfEqual(instant, isWholeDay(text)) }
}

const isComparison = (operator: Positive): operator is Comparison => /^(greater|less)Than/.test(operator)

function readDataTest(node: Node, operator: Positive): DataTest | null {
  switch (operator) {
    case 'exists':
      return { is: 'present' }
    case 'within':
    case 'olderThan': {
      const window = readWindow(node)
      return window && { is: 'date', test: { is: operator, window } }
    }
    case 'contains': {
      const value = typeof node.json.value === 'number' ? readScalar(node, 'value') : readPart(node)
      return value === null || typeof value === 'boolean' ? null : { is: 'containing', value }
    }
    default:
      return readDataComparison(node, operator)
  }
}

function readDataComparison(node: Node, operator: Positive): DataTest | null {
  const value = readScalar(node, 'value')
  if (value === null) return null
  const test = typeof value === 'string' ? timeTestOf(value, operator) : null
  if (test) return { is: 'date', test }
  if (!isComparison(operator)) return { is: 'equal', value }
  if (typeof value === 'boolean') return refuse(node, 'value', 'invalid_type', 'must be a number or a string')
  if (typeof value === 'string' && looksLikeDate(value)) return refuseDate(node)
  return { is: 'compared', comparison: operator, value }
}

function readEventTest(node: Node, operator: Positive): EventTest | null {
  if (operator === 'triggered') return { is: 'any' }
  const window = readWindow(node)
  return window && { is: operator === 'triggeredWithin' ? 'within' : 'olderThan', window }
}

function readWindow(node: Node): Window | null {
  const value = readScalar(node, 'value')
  const unit = readWord(node, 'unit', UNITS)
  if (value === null) return null
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    return refuse(node, 'value', 'invalid_type', 'must be a whole number')
  }
  if (value < 0) return refuse(node, 'value', 'too_small', 'must not be negative')
  if (unit === null) return null
  if (millisecondsOf({ value, unit }) > MAX_WINDOW_MS) {
    return refuse(node, 'value', 'too_big', 'must not be more than 100 years')
  }
  return { value, unit }
}
