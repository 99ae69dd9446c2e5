import type { z } from 'zod'
import { type FieldError, fieldError, validationError } from '../errors.ts'
import { issueText } from '../lib/issue-text.ts'
import { isJsonObject, typeName } from '../lib/json.ts'

/** Most errors in an answer: a small body with a long list must not return megabytes. */
const MAX_FIELD_ERRORS = 1_000

/**
 * Checks an input against its schema and returns it as the schema leaves it (trimmed, unknown fields gone).
 * Throws VALIDATION_ERROR with one entry per bad field, all of them at once (up to MAX_FIELD_ERRORS). On some endpoints
 * the REST facade turns this 422 into the short 400 of the contract (rest/facade.ts). `root` names what the input is a
 * part of: its fields are told with it.
 */
export function checkInput<Output>(schema: z.ZodType<Output>, input: unknown, root?: string): Output {
  assertCountable(input)
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const errors = result.error.issues
    .flatMap((issue) => toFieldErrors(issue, input))
    .map((error) => (root === undefined ? error : { ...error, field: `${root}.${error.field}` }))
  const byField = new Map(errors.toReversed().map((error) => [error.field, error]))
  throw validationError([...byField.values()].toReversed().slice(0, MAX_FIELD_ERRORS))
}

/**
 * More items than any field may have; the items of a list are checked one by one, and a body can have
 * millions.
 */
const MAX_ITEMS = 40_000

function assertCountable(input: unknown): void {
  if (!isJsonObject(input)) return
  for (const [field, value] of Object.entries(input)) {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue
    const items = Array.isArray(value) ? value.length : Object.keys(value).length
    if (items > MAX_ITEMS) throw fieldError(field, 'too_big', `must have at most ${MAX_ITEMS} items`)
  }
}

function toFieldErrors(issue: z.core.$ZodIssue, input: unknown, at: PropertyKey[] = []): FieldError[] {
  const path = [...at, ...issue.path]
  // Of the alternatives of a union, the one that matched furthest is what the caller meant.
  const closest = issue.code === 'invalid_union' ? closestAlternative(issue.errors) : null
  if (closest) return closest.flatMap((inner) => toFieldErrors(inner, input, path))
  const value = valueAt(input, path)
  const code = codeOf(issue, value)
  return [
    {
      field: path.map(String).join('.'),
      message: code === 'required' && !isOwnRule(issue) ? 'is required' : issueText(issue),
      code,
      received: typeName(value),
    },
  ]
}

/** A rule about when a field is required says so in its own words. */
const isOwnRule = (issue: z.core.$ZodIssue): boolean =>
  issue.code === 'custom' && issue.params?.code === 'required'

const closestAlternative = (alternatives: z.core.$ZodIssue[][]): z.core.$ZodIssue[] | null =>
  alternatives.find((issues) =>
    issues.some((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  ) ?? null

function codeOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom') {
    const code = typeof issue.params?.code === 'string' ? issue.params.code : 'custom'
    // A value of a wrong type is there, at least.
    return value === undefined && code === 'invalid_type' ? 'required' : code
  }
  if (value === undefined) return 'required'
  switch (issue.code) {
    case 'invalid_format':
      return 'invalid_string'
    case 'invalid_value':
      return 'invalid_enum_value'
    case 'invalid_union':
      return 'invalid_type'
    case 'invalid_type':
    case 'too_big':
    case 'too_small':
    case 'unrecognized_keys':
      return issue.code
    default:
      return 'custom'
  }
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return value
}
