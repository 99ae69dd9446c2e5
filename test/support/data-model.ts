import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/lib/json.ts'

const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'c',
    '',
    'a.b',
    'id',
    'email',
    'svc_id',
    'manageUrl',
    '__proto__',
    'constructor',
    'value',
  ),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
)
const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }).map((value) => value as JsonValue)
const value = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<JsonValue[]>(1, 2, '1', true, false, 'x', '', null) },
  { weight: 2, arbitrary: json },
  fc.record({ value: json, persistent: fc.boolean() }),
  fc.record({ value: json }),
)
/** What callers may give as `data`: few keys, so that inputs meet, and the values that mean something special. */
export const dataInput: fc.Arbitrary<JsonObject> = fc.dictionary(key, value, { maxKeys: 4 })

const RESERVED = ['id', 'svc_id', 'svc_email', 'email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl']

/** What a data input means, as the contract says it, one key after the other. */
export function applyData(stored: JsonObject, data: JsonObject): { contact: JsonObject; event: JsonObject } {
  const contact = new Map(Object.entries(stored))
  const event = new Map<string, JsonValue>()
  for (const [name, given] of Object.entries(data)) {
    if (RESERVED.includes(name)) continue
    const wrapped = isWrapped(given) ? given : { value: given, persistent: true }
    if (wrapped.value === '') continue
    event.set(name, wrapped.value)
    if (!wrapped.persistent) continue
    if (wrapped.value === null) contact.delete(name)
    else contact.set(name, wrapped.value)
  }
  return { contact: Object.fromEntries(contact), event: Object.fromEntries(event) }
}

function isWrapped(given: JsonValue): given is { value: JsonValue; persistent: boolean } {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  const names = Object.keys(given).toSorted().join()
  return names === 'persistent,value' && typeof given.persistent === 'boolean'
}
