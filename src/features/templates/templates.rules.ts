import { z } from 'zod'
import { clearable, email, line, messageType, optional } from '../../lib/fields.ts'
import { MAX_SUBJECT } from '../../mail/headers.rules.ts'

export const MAX_NAME = 255
const MAX_BODY = 1_000_000

const name = line(MAX_NAME).min(1)
const subject = line(MAX_SUBJECT).min(1)
const body = z.string().min(1).max(MAX_BODY)
const description = z.string().max(1_000)
const fromName = line(255)

const SUBJECT = '{{variable}} placeholders are filled when mail is sent.'
const BODY = 'HTML with {{variable}} placeholders.'
const FROM = 'The sender; its domain must be verified.'
const DESCRIPTION = 'An internal note, never sent.'

export const createTemplateInput = z
  .object({
    name,
    subject: subject.describe(SUBJECT),
    body: body.describe(BODY),
    from: email.describe(FROM),
    description: optional(description).describe(DESCRIPTION),
    fromName: optional(fromName),
    replyTo: optional(email),
    type: optional(messageType).describe('MARKETING by default.'),
  })
  .meta({
    description: 'A message to be sent more than once.',
    examples: [
      {
        name: 'Welcome',
        subject: 'Welcome, {{name}}',
        body: '<p>Hello {{name}}, good to have you here.</p>',
        from: 'hello@mail.example.com',
        type: 'TRANSACTIONAL',
      },
    ],
  })

export const updateTemplateInput = z
  .object({
    name: name.optional(),
    subject: subject.optional().describe(SUBJECT),
    body: body.optional().describe(BODY),
    from: email.optional().describe(FROM),
    description: clearable(description).describe(`${DESCRIPTION} null removes it.`),
    fromName: clearable(fromName).describe('null removes it.'),
    replyTo: clearable(email).describe('null removes it.'),
    type: messageType.optional(),
  })
  .meta({
    description: 'What is to be changed of a template; what is left out stays as it is.',
    examples: [{ subject: 'Good to have you here, {{name}}', replyTo: null }],
  })

export type CreateTemplateInput = z.output<typeof createTemplateInput>
export type UpdateTemplateInput = z.output<typeof updateTemplateInput>
