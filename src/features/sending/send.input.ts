import { z } from 'zod'
import { isBase64 } from '../../lib/base64.ts'
import { HAS_CONTROL, id, jsonObject, line, optional } from '../../lib/fields.ts'
import { isJsonObject } from '../../lib/json.ts'
import { isHeaderName, isReservedHeader, isUnreadableValue } from '../../mail/headers.rules.ts'
import { email } from '../../messages/message.input.ts'
import { MAX_SUBJECT } from '../../messages/subject.rules.ts'
import { contactData } from '../contacts/contacts.input.ts'
import { recipients, sender } from './recipients.input.ts'

const MAX_HEADER_VALUE = 998
const MAX_HEADERS = 50

function headerProblem(name: string, value: unknown): { code: string; message: string } | null {
  if (!isHeaderName(name)) {
    return { code: 'invalid_string', message: 'is not a header name (printable ASCII, no colon or blank)' }
  }
  if (isReservedHeader(name)) {
    return { code: 'custom', message: 'is left to the service and its mail provider, and cannot be set' }
  }
  if (typeof value !== 'string') return { code: 'invalid_type', message: 'must be a string' }
  if (value.length > MAX_HEADER_VALUE) {
    return { code: 'too_big', message: `must have at most ${MAX_HEADER_VALUE} characters` }
  }
  if (HAS_CONTROL.test(value)) {
    return { code: 'invalid_string', message: 'must not contain line breaks or control characters' }
  }
  if (isUnreadableValue(name, value)) {
    return { code: 'invalid_string', message: 'must be a list of message ids, which are ASCII' }
  }
  return null
}

const headers = jsonObject
  .superRefine((value, ctx) => {
    if (!isJsonObject(value)) return
    const entries = Object.entries(value)
    if (entries.length > MAX_HEADERS) {
      ctx.addIssue({
        code: 'custom',
        message: `must have at most ${MAX_HEADERS}`,
        params: { code: 'too_big' },
      })
      return
    }
    for (const [name, item] of entries) {
      const problem = headerProblem(name, item)
      if (problem) {
        ctx.addIssue({
          code: 'custom',
          path: [name],
          message: problem.message,
          params: { code: problem.code },
        })
      }
    }
  })
  .meta({
    scalar: 'JSONObject',
    maxProperties: MAX_HEADERS,
    additionalProperties: { type: 'string', maxLength: MAX_HEADER_VALUE },
  })

/** RFC 2045, 5.1: type, subtype and parameters. */
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}( *; *[\w.-]+=("[^"\r\n]*"|[\w.+-]+))*$/

const disposition = z.enum(['attachment', 'inline']).meta({ id: 'SendEmailInputAttachmentsInputDisposition' })
export type AttachmentDisposition = z.output<typeof disposition>

export const attachment = z
  .object({
    filename: line(255)
      .min(1)
      .refine((name) => !name.includes('"'), {
        error: 'must not contain a double quote',
        params: { code: 'invalid_string' },
      })
      .describe('Name of the file, 1 to 255 characters without a double quote.'),
    content: z
      .string()
      .refine(isBase64, {
        error: 'must be base64, without "data:…;base64," before it',
        params: { code: 'invalid_string' },
      })
      .describe('Content of the file, in base64.'),
    contentType: z
      .string()
      .max(255)
      .regex(CONTENT_TYPE, 'must be a media type such as application/pdf')
      .describe('Media type of the file, such as application/pdf.'),
    contentId: optional(
      z
        .string()
        .max(255)
        .regex(/^[\w.@+-]+$/, 'must have letters, digits and . @ + - _ only'),
    ).describe(
      'Name by which an inline image is shown: <img src="cid:name">. Required for inline, at most 255 characters.',
    ),
    disposition: optional(disposition).describe('Place of the file in the message; attachment by default.'),
  })
  .refine((file) => file.disposition !== 'inline' || file.contentId !== undefined, {
    path: ['contentId'],
    error: 'is required for an inline attachment',
    params: { code: 'required' },
  })
  .describe('A file that travels with the message. Sizes count decoded bytes.')

/** A field that a template may give instead. Also checked when others are bad, so that all errors come at once. */
export const requiredWithout = (
  template: string,
  field: string,
): [(input: Record<string, unknown>) => boolean, z.core.$ZodCustomParams] => [
  (input) => input[template] !== undefined || input[field] !== undefined,
  {
    path: [field],
    error: 'is required without a template',
    params: { code: 'required' },
    when: ({ value }) => isJsonObject(value),
  },
]

export const sendInput = z
  .object({
    to: recipients,
    subject: optional(line(MAX_SUBJECT).min(1)).describe(
      `Subject, 1 to ${MAX_SUBJECT} characters on one line, with {{variable}} placeholders. Required without a template.`,
    ),
    body: optional(z.string().min(1)).describe(
      'HTML with {{variable}} placeholders. Required without a template.',
    ),
    template: optional(id).describe(
      'Id of a template, a UUID. It gives subject, body, from, reply-to and the kind of the message; fields of the request win.',
    ),
    from: optional(sender).describe(
      'Sender: an address, "Name <address>" or { name, email }; its domain must be verified. Required without a template.',
    ),
    name: optional(line(255)).describe(
      'Display name of the sender when `from` is a string without one. Deprecated: put it into `from`.',
    ),
    subscribed: optional(z.boolean()).describe(
      'Whether marketing mail may be sent to the recipients. New contacts are not subscribed unless this is true; existing ones keep their state unless it is given.',
    ),
    data: optional(contactData).describe(
      'Variables of the message, stored on the contacts, at most 64 KB each. null deletes a key, "" is ignored, { value, persistent: false } is used for this message only.',
    ),
    headers: optional(headers).describe(
      `Custom headers of the message, name to value: at most ${MAX_HEADERS}, values of at most ${MAX_HEADER_VALUE} characters.`,
    ),
    reply: optional(email).describe('Address for replies; without it that of the template, or the sender.'),
    attachments: optional(z.array(attachment)).describe(
      'Files that travel with the message: at most 10, together 10 MB, by default.',
    ),
  })
  .refine(...requiredWithout('template', 'subject'))
  .refine(...requiredWithout('template', 'body'))
  .refine(...requiredWithout('template', 'from'))
  .meta({
    description: 'The message to send, and its recipients.',
    examples: [
      {
        to: { name: 'Ada', email: 'ada@example.org' },
        from: 'Example <hello@mail.example.com>',
        subject: 'Your receipt',
        body: '<p>Thank you, {{name}}.</p>',
        data: { plan: 'pro' },
      },
    ],
  })

export type SendInput = z.output<typeof sendInput>
export type AttachmentInput = z.output<typeof attachment>
