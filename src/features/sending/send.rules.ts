import { z } from 'zod'
import { isBase64 } from '../../lib/base64.ts'
import { email, HAS_CONTROL, id, jsonObject, line, optional } from '../../lib/fields.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { isHeaderName, isReservedHeader, isUnreadableValue, MAX_SUBJECT } from '../../mail/headers.rules.ts'
import { contactData } from '../contacts/contact-data.rules.ts'
import { recipients, sender } from './recipients.rules.ts'

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

export const attachment = z
  .object({
    filename: line(255)
      .min(1)
      .refine((name) => !name.includes('"'), {
        error: 'must not contain a double quote',
        params: { code: 'invalid_string' },
      })
      .describe('1 to 255 characters.'),
    content: z
      .string()
      .refine(isBase64, {
        error: 'must be base64, without "data:…;base64," before it',
        params: { code: 'invalid_string' },
      })
      .describe('The file, in base64.'),
    contentType: z.string().max(255).regex(CONTENT_TYPE, 'must be a media type such as application/pdf'),
    contentId: optional(
      z
        .string()
        .max(255)
        .regex(/^[\w.@+-]+$/, 'must have letters, digits and . @ + - _ only'),
    ).describe('The name by which an inline image is shown: <img src="cid:name">.'),
    disposition: optional(z.enum(['attachment', 'inline'])).describe('attachment (the default) or inline.'),
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
      `1 to ${MAX_SUBJECT} characters on one line. Required without a template.`,
    ),
    body: optional(z.string().min(1)).describe('HTML. Required without a template.'),
    template: optional(id).describe('Gives subject, body, from and reply-to; fields of the request win.'),
    from: optional(sender).describe('Required unless the template has one. Its domain must be verified.'),
    name: optional(line(255)).describe('Deprecated: the sender name when `from` is a string without one.'),
    subscribed: optional(z.boolean()).describe(
      'New contacts are not subscribed unless this is true; known ones keep their state unless it is given.',
    ),
    data: optional(contactData).describe(
      'Variables of the message, stored on the contact. null deletes a key, "" is ignored, { value, persistent: false } is used once.',
    ),
    headers: optional(headers).describe('Custom headers of the message, name to value.'),
    reply: optional(email).describe('Where answers go.'),
    attachments: optional(z.array(attachment)).describe('At most 10 files, 10 MB together by default.'),
  })
  .refine(...requiredWithout('template', 'subject'))
  .refine(...requiredWithout('template', 'body'))
  .refine(...requiredWithout('template', 'from'))
  .meta({
    description: 'A transactional message to one or many recipients.',
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

/** Custom headers in their order. */
export const headerList = (headers: JsonObject | undefined): { name: string; value: string }[] =>
  Object.entries(headers ?? {}).map(([name, value]) => ({ name, value: String(value) }))
