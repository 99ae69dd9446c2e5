import type { JsonValue } from '../lib/json.ts'
import { hasPart } from '../lib/text/has-part.ts'
import { type Comparison, isInside, parseInstant, spanAt, type TimeTest } from './dates.rules.ts'

/**
 * A test of a value in `data`. Types are never converted: a number is compared with numbers, a text with
 * texts, and a date with texts that are dates.
 */
export type DataTest =
  | { is: 'equal'; value: string | number | boolean }
  | { is: 'date'; test: TimeTest }
  | { is: 'compared'; comparison: Comparison; value: string | number }
  /** A text that has the part, or a list that has the element. */
  | { is: 'containing'; value: string | number }
  | { is: 'present' }

/** Whether a value passes. A key that is missing passes nothing. */
export function passesDataTest(test: DataTest, value: JsonValue | undefined, now: Date): boolean {
  switch (test.is) {
    case 'equal':
      return value === test.value
    case 'date': {
      const instant = typeof value === 'string' ? parseInstant(value) : null
      return instant !== null && isInside(instant, spanAt(test.test, now))
    }
    case 'compared': {
      const order = orderOf(value, test.value)
      return order !== null && holds(test.comparison, order)
    }
    case 'containing':
      if (Array.isArray(value)) return value.includes(test.value)
      return typeof value === 'string' && typeof test.value === 'string' && hasPart(value, test.value)
    case 'present':
      return value !== undefined && value !== null
  }
}

/** Below, at or above zero; null when the two are not of one type. Texts go by code point, as in the database. */
function orderOf(value: JsonValue | undefined, other: string | number): number | null {
  if (typeof value === 'number' && typeof other === 'number') {
    return value === other ? 0 : value < other ? -1 : 1
  }
  if (typeof value !== 'string' || typeof other !== 'string') return null
  // What follows cannot change the order, and may be long.
  return Buffer.compare(Buffer.from(value.slice(0, other.length + 1)), Buffer.from(other))
}

function holds(comparison: Comparison, order: number): boolean {
  switch (comparison) {
    case 'greaterThan':
      return order > 0
    case 'greaterThanOrEqual':
      return order >= 0
    case 'lessThan':
      return order < 0
    case 'lessThanOrEqual':
      return order <= 0
  }
}
