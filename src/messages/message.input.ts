import { z } from 'zod'
import { isEmailAddress, normalizeEmail } from './email-address.rules.ts'

/** An email address, trimmed and in lower case. */
export const email = z
  .string()
  .transform(normalizeEmail)
  .refine(isEmailAddress, { error: 'must be an email address', params: { code: 'invalid_string' } })
  .meta({ format: 'email' })

/** The kind of a message, which decides who may receive it. */
export const messageType = z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']).meta({ id: 'MessageType' })
