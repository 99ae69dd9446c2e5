import { z } from 'zod'
import type { JsonObject } from './json.ts'
import { isTimeZone } from './zoned-time.ts'

/** A field that may be left out; null means the same. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined)

/** A field of a change: left out it stays as it is, null empties it. */
export const clearable = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

/** One line of text: no CR, LF or other control characters, which could end a header early. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
export const HAS_CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/

export const line = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !HAS_CONTROL.test(value), {
      error: 'must not contain line breaks or control characters',
      params: { code: 'invalid_string' },
    })

export const id = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be a UUID')
  .meta({ format: 'uuid' })

/** A time zone by its name in the IANA database. */
export const timeZone = z
  .string()
  .max(100)
  .refine(isTimeZone, {
    error: 'must be a time zone of the IANA database, such as Europe/Berlin',
    params: { code: 'invalid_string' },
  })

export const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'must be an object',
    params: { code: 'invalid_type' },
  })
  .meta({ scalar: 'JSONObject' })

/** Any JSON value; the service reads it. */
export const json = z.unknown().meta({ scalar: 'JSON' })

/** The bytes of a file, however it was sent. The receiver checks its size. */
export const file = z
  .custom<Uint8Array>((value) => value instanceof Uint8Array, {
    error: 'must be a file',
    params: { code: 'invalid_type' },
  })
  .meta({ scalar: 'File' })
