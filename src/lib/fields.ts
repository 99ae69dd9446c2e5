import { z } from 'zod'
import { isEmailAddress, normalizeEmail } from './email-address.ts'
import type { JsonObject } from './json.ts'

declare module 'zod' {
  interface GlobalMeta {
    /** The GraphQL scalar of a field whose shape GraphQL cannot say. */
    scalar?: 'JSONObject' | 'JSON' | 'ID' | 'Recipients' | 'Sender' | 'File'
    /** Inputs that are valid; the API description shows the first. */
    examples?: readonly unknown[]
  }
}

/** A field that may be left out; null means the same. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined)

/** A field of a change: left out it stays as it is, null empties it. */
export const clearable = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

/** One line of text: no CR, LF or other control characters, which could end a mail header early. */
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

/** An email address, trimmed and in lower case. */
export const email = z
  .string()
  .transform(normalizeEmail)
  .refine(isEmailAddress, { error: 'must be an email address', params: { code: 'invalid_string' } })
  .meta({ format: 'email' })

export const messageType = z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']).meta({ id: 'MessageType' })

export const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'must be an object',
    params: { code: 'invalid_type' },
  })
  .meta({ scalar: 'JSONObject' })

/** Any JSON value; the service reads it. */
export const json = z.unknown().meta({ scalar: 'JSON' })

/** The bytes of a file, however they came. Its size is the matter of whoever takes it. */
export const file = z
  .custom<Uint8Array>((value) => value instanceof Uint8Array, {
    error: 'must be a file',
    params: { code: 'invalid_type' },
  })
  .meta({ scalar: 'File' })
