import { isDeepStrictEqual } from 'node:util'
import { parseInstant } from '../../audience/dates.rules.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts'

/** Names that the service gives to templates itself; as keys of `data` they are dropped silently. */
export const RESERVED_KEYS: ReadonlySet<string> = new Set([
  'id',
  'svc_id',
  'svc_email',
  'email',
  'unsubscribeUrl',
  'subscribeUrl',
  'manageUrl',
])

/** The most that one contact's data may take as JSON text, in bytes; the database holds the limit too. */
export const MAX_DATA_BYTES = 65_536

/**
 * Effect of a `data` input: `set` and `unset` change the contact, `values` is the whole input as an event or
 * a template sees it, with one-off values unwrapped.
 */
export type DataChange = { set: JsonObject; unset: string[]; values: JsonObject }

type OneOff = { value: JsonValue; persistent: boolean }

const isOneOff = (value: JsonValue): value is OneOff =>
  isJsonObject(value) &&
  typeof value.persistent === 'boolean' &&
  Object.hasOwn(value, 'value') &&
  Object.keys(value).length === 2

/**
 * Reads a `data` input: reserved keys are dropped, "" is ignored, null deletes, `{ value, persistent: false }`
 * is used once, everything else is stored.
 */
export function readData(data: JsonObject | undefined): DataChange {
  const set: [string, JsonValue][] = []
  const values: [string, JsonValue][] = []
  const unset: string[] = []
  for (const [key, given] of Object.entries(data ?? {})) {
    if (RESERVED_KEYS.has(key)) continue
    const value = isOneOff(given) ? given.value : given
    const stored = !isOneOff(given) || given.persistent
    if (value !== '') values.push([key, value])
    if (!stored || value === '') continue
    if (value === null) unset.push(key)
    else set.push([key, value])
  }
  // fromEntries defines own properties, so that a key such as "__proto__" is a key like any other.
  return { set: Object.fromEntries(set), unset, values: Object.fromEntries(values) }
}

/** Whether the change alters the contact's data; looks only at the keys that the change names. */
export const changesData = (current: JsonObject, { set, unset }: DataChange): boolean =>
  unset.some((key) => Object.hasOwn(current, key)) ||
  Object.entries(set).some(
    ([key, value]) => !Object.hasOwn(current, key) || !isDeepStrictEqual(current[key], value),
  )

/** The contact's data after the change, as the database will merge it. */
export function mergeData(current: JsonObject, change: DataChange): JsonObject {
  const unset = new Set(change.unset)
  const kept = Object.entries(current).filter(([key]) => !unset.has(key))
  return Object.fromEntries([...kept, ...Object.entries(change.set)])
}

export const FIELD_TYPES = ['string', 'number', 'boolean', 'date', 'object', 'array'] as const
export type FieldType = (typeof FIELD_TYPES)[number]

/** A type by its name, as it is on record. */
export const fieldType = (name: string): FieldType => FIELD_TYPES.find((type) => type === name) ?? 'string'

/** The type of one value; a date is a string that filters can compare as one. */
export function typeOf(value: JsonValue | undefined): FieldType {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'object' && value !== null) return 'object'
  return typeof value === 'string' && parseInstant(value) !== null ? 'date' : 'string'
}
