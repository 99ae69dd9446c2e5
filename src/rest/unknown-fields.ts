import { z } from 'zod'
import { AppError, type FieldError } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'
import { cutText } from '../lib/text/cut-text.ts'
import { likelyField } from './likely-fields.ts'

/** The fields of an input, with those of the objects and lists of objects in it. */
export type KnownFields = ReadonlyMap<string, KnownFields | null>

/** A field of a request that its operation does not have. `path` is dotted, as in field errors. */
export type UnknownField = { path: string; likely: string | null }

/** How many a request is told of; one with more is no slip. */
const MAX_TOLD = 10
/** Items of a list that are looked at. */
const MAX_ITEMS = 20
/** Characters of a name that are told. */
const MAX_NAME = 60

/** A schema that refers to itself has no end; below it any field may stand. */
const MAX_DEPTH = 5

/** The fields that a schema of an object knows; null when any may stand there. */
export function knownFieldsOf(schema: z.core.$ZodType, depth = 0): KnownFields | null {
  if (depth > MAX_DEPTH) return null
  if (schema instanceof z.ZodObject) {
    return new Map(
      Object.entries(schema.shape).map(([name, field]) => [name, knownFieldsOf(field, depth + 1)]),
    )
  }
  if (schema instanceof z.ZodArray) return knownFieldsOf(schema.element, depth + 1)
  if (schema instanceof z.ZodPipe) return knownFieldsOf(schema.in, depth)
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return knownFieldsOf(schema.unwrap(), depth)
  return null
}

/** The fields of a body that no part of the service reads, the first MAX_TOLD of them. */
export function unknownFields(known: KnownFields, body: JsonObject): UnknownField[] {
  const found: UnknownField[] = []
  collect(known, body, '', found)
  return found
}

function collect(known: KnownFields, object: JsonObject, prefix: string, found: UnknownField[]): void {
  for (const name in object) {
    if (found.length === MAX_TOLD) return
    const inner = known.get(name)
    if (inner === null) continue
    if (inner === undefined) found.push(unknown(name, known, prefix))
    else collectInside(inner, object[name], `${prefix}${name}.`, found)
  }
}

function collectInside(known: KnownFields, value: unknown, prefix: string, found: UnknownField[]): void {
  if (isJsonObject(value)) collect(known, value, prefix, found)
  if (!Array.isArray(value)) return
  for (const [index, item] of value.slice(0, MAX_ITEMS).entries()) {
    if (isJsonObject(item)) collect(known, item, `${prefix}${index}.`, found)
  }
}

function unknown(name: string, known: KnownFields, prefix: string): UnknownField {
  const likely = likelyField(name, [...known.keys()])
  return { path: `${prefix}${cutText(name, MAX_NAME)}`, likely: likely && `${prefix}${likely}` }
}

/** The parameters of a query string that no part of the service reads. */
export function unknownParameters(names: readonly string[], query: URLSearchParams): UnknownField[] {
  const given = new Set(query.keys())
  const strange = [...given].filter((name) => !names.includes(name)).slice(0, MAX_TOLD)
  return strange.map((name) => ({ path: cutText(name, MAX_NAME), likely: likelyField(name, names) }))
}

/** One sentence for each of them. */
export const warningText = (unknown: readonly UnknownField[]): string =>
  unknown
    .map(
      ({ path, likely }) =>
        `"${path}" is not known and was ignored${likely ? `; did you mean "${likely}"?` : '.'}`,
    )
    .join(' ')

/** The same as the value of a header: of printable ASCII only. */
export const asHeaderValue = (text: string): string => text.replaceAll(/[^ -~]/g, '?')

/** Adds to an error about fields which of the unknown ones is likely the one that is missing. */
export function withLikelyFields(error: unknown, unknown: readonly UnknownField[]): unknown {
  if (!(error instanceof AppError) || !error.extras.errors || unknown.length === 0) return error
  const errors = error.extras.errors.map((one) => withLikely(one, unknown))
  return new AppError(error.code, error.message, {
    ...error.extras,
    errors,
    suggestion: [error.extras.suggestion, warningText(unknown)].filter(Boolean).join(' '),
  })
}

function withLikely(error: FieldError, unknown: readonly UnknownField[]): FieldError {
  const slip = error.code === 'required' && unknown.find(({ likely }) => likely === error.field)
  if (!slip) return error
  return {
    ...error,
    message: `${error.message}; "${slip.path}" is not a field: did you mean "${error.field}"?`,
  }
}
