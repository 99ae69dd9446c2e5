export type JsonPrimitive = string | number | boolean | null
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject
export type JsonObject = { [key: string]: JsonValue }
export type InputJsonObject = { readonly [key: string]: JsonValue }

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The deepest nesting that an input may have; deeper ones would overflow the stack somewhere. */
export const MAX_JSON_DEPTH = 64

export type Unstorable = { path: string; reason: 'depth' | 'text' | 'number' }

/**
 * Finds the first place of an input that Postgres cannot store: a NUL character or half of a surrogate pair, in
 * a value or a key; a number that JavaScript reads as infinite; or nesting beyond MAX_JSON_DEPTH. The path is
 * dotted, as in field errors.
 */
export function findUnstorable(value: unknown, path = '', depth = 0): Unstorable | null {
  if (typeof value === 'string') return isStorable(value) ? null : { path, reason: 'text' }
  if (typeof value === 'number') return Number.isFinite(value) ? null : { path, reason: 'number' }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null
  if (depth > MAX_JSON_DEPTH) return { path, reason: 'depth' }
  for (const [key, item] of Object.entries(value)) {
    if (!isStorable(key)) return { path, reason: 'text' }
    const found = findUnstorable(item, path === '' ? key : `${path}.${key}`, depth + 1)
    if (found) return found
  }
  return null
}

const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')

/** The JSON type of a value; never the value itself. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/**
 * Estimates how many characters a value takes as JSON; values that JSON leaves out, such as functions, are
 * counted too.
 */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 3
  if (typeof value !== 'object' || value === null) return 5
  if (value instanceof Date) return 27
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + jsonSize(item), 2)
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + 3 + jsonSize(item), 2)
}
