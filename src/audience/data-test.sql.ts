import type { DataTest } from './data-test.rules.ts'
import {
  type Comparison,
  DATE_GRAMMAR,
  FINER_THAN_MILLISECONDS,
  OFFSET_GRAMMAR,
  type Span,
  spanAt,
  textBounds,
  timestampText,
} from './dates.rules.ts'

/** Adds a parameter to the statement and returns its place, with the cast. */
export type Bind = (
  value: string | boolean,
  type: 'text' | 'boolean' | 'uuid' | 'jsonb' | 'numeric' | 'timestamptz',
) => string

const OPERATOR_OF: Record<Comparison, string> = {
  greaterThan: '>',
  greaterThanOrEqual: '>=',
  lessThan: '<',
  lessThanOrEqual: '<=',
}

/**
 * A condition on a value of `c.data`, true or false, never null. Casts stand behind a CASE that lets only
 * through what they cannot fail on: Postgres may reorder conditions, but not the branches of a CASE.
 */
export function dataCondition(bind: Bind, path: readonly string[], test: DataTest, now: Date): string {
  // Containment compares scalars under keys exactly, types included, and a GIN index serves it.
  if (test.is === 'equal') return `c.data @> ${bind(nested(path, test.value), 'jsonb')}`
  // Key by key instead of by #>, which would take a number for the place in a list.
  const value = `(c.data${path.map((key) => ` -> ${bind(key, 'text')}`).join('')})`
  const text = `(${value} #>> '{}')`
  const ifType = (type: string, condition: string) =>
    `(case when jsonb_typeof(${value}) = '${type}' then ${condition} else false end)`
  switch (test.is) {
    case 'present':
      return `coalesce(jsonb_typeof(${value}) <> 'null', false)`
    case 'date':
      return dateCondition(bind, text, spanAt(test.test, now))
    case 'compared': {
      const operator = OPERATOR_OF[test.comparison]
      return typeof test.value === 'number'
        ? ifType('number', `${value}::numeric ${operator} ${bind(String(test.value), 'numeric')}`)
        : ifType('string', `${text} collate "C" ${operator} ${bind(test.value, 'text')}`)
    }
    case 'containing': {
      const element = ifType('array', `${value} @> ${bind(JSON.stringify(test.value), 'jsonb')}`)
      if (typeof test.value === 'number') return element
      return `(${ifType('string', `strpos(${text}, ${bind(test.value, 'text')}) > 0`)} or ${element})`
    }
  }
}

/** Returns `{"a":{"b":5}}` for the path a, b; written as text, so that a key like `__proto__` is a key. */
const nested = (path: readonly string[], value: string | number | boolean): string =>
  path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, JSON.stringify(value))

/** The text is a date inside the span. Without a type check: only texts fit the grammar. */
function dateCondition(bind: Bind, text: string, span: Span): string {
  const { from, before } = textBounds(span)
  const likely = [
    `${text} collate "C" >= ${bind(from, 'text')}`,
    ...(before === null ? [] : [`${text} collate "C" < ${bind(before, 'text')}`]),
  ]
  return `(case when ${likely.join(' and ')} and ${text} ~ '${DATE_GRAMMAR}'
    then ${range(bind, span)} @> ${timestampOf(text)} else false end)`
}

/**
 * A text that fits the grammar of dates; its time is UTC unless it says otherwise. Digits finer than milliseconds
 * would be at place 24; the cast would round them.
 */
const timestampOf = (text: string): string =>
  `(case when substr(${text}, 24, 1) between '0' and '9'
      then regexp_replace(${text}, '${FINER_THAN_MILLISECONDS}', '\\1') else ${text} end ||
    case when right(${text}, 1) = 'Z' or ${text} ~ '${OFFSET_GRAMMAR}' then '' else 'Z' end)::timestamptz`

/** A range from the first time up to, not including, the second; null is open. */
function range(bind: Bind, { from, before }: Span): string {
  const end = (instant: number | null) =>
    instant === null ? 'null' : bind(timestampText(instant), 'timestamptz')
  return `tstzrange(${end(from)}, ${end(before)})`
}

/** A column of type timestamptz inside a span; as comparisons, which an index can serve. */
export function columnInside(bind: Bind, column: string, { from, before }: Span): string {
  const parts = [
    ...(from === null ? [] : [`${column} >= ${bind(timestampText(from), 'timestamptz')}`]),
    ...(before === null ? [] : [`${column} < ${bind(timestampText(before), 'timestamptz')}`]),
  ]
  return `(${parts.join(' and ')})`
}
