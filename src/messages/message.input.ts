import { z } from 'zod'
import { line } from '../lib/fields.ts'
import { isEmailAddress, normalizeEmail } from './email-address.rules.ts'
import { MAX_SUBJECT } from './subject.rules.ts'

/** An email address, trimmed and in lower case. */
export const email = z
  .string()
  .transform(normalizeEmail)
  .refine(isEmailAddress, { error: 'must be an email address', params: { code: 'invalid_string' } })
  .meta({ format: 'email' })

/** The kind of a message, which decides who may receive it. */
export const messageType = z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']).meta({ id: 'MessageType' })

/** Most characters of the fields of a message that is written once and sent many times. */
export const MAX_NAME = 255
const MAX_BODY = 1_000_000
const MAX_DESCRIPTION = 1_000
const MAX_FROM_NAME = 255

/** The fields of such a message, for templates, campaigns and their variants. */
export const MESSAGE_SCHEMAS = {
  name: line(MAX_NAME).min(1),
  description: z.string().max(MAX_DESCRIPTION),
  subject: line(MAX_SUBJECT).min(1),
  body: z.string().min(1).max(MAX_BODY),
  from: email,
  fromName: line(MAX_FROM_NAME),
  replyTo: email,
}

/** What the fields mean. */
export const MESSAGE_TEXTS: Record<keyof typeof MESSAGE_SCHEMAS, string> = {
  name: `Internal name, never sent, 1 to ${MAX_NAME} characters; it need not be unique.`,
  description: `Internal note, never sent, at most ${MAX_DESCRIPTION} characters.`,
  subject: `Subject, 1 to ${MAX_SUBJECT} characters on one line; {{variable}} placeholders are filled for each recipient.`,
  body: `HTML, 1 to ${MAX_BODY.toLocaleString('en')} characters; {{variable}} placeholders are filled for each recipient.`,
  from: 'Address of the sender; its domain must be verified for the project.',
  fromName: `Display name of the sender, at most ${MAX_FROM_NAME} characters.`,
  replyTo: 'Address for replies; without it they go to the sender.',
}
