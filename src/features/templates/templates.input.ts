import { z } from 'zod'
import { clearable, line, optional } from '../../lib/fields.ts'
import { MAX_SUBJECT } from '../../mail/headers.rules.ts'
import { email, messageType } from '../../messages/message.input.ts'

export const MAX_NAME = 255
const MAX_BODY = 1_000_000
const MAX_DESCRIPTION = 1_000
const MAX_FROM_NAME = 255

const name = line(MAX_NAME).min(1)
const subject = line(MAX_SUBJECT).min(1)
const body = z.string().min(1).max(MAX_BODY)
const description = z.string().max(MAX_DESCRIPTION)
const fromName = line(MAX_FROM_NAME)

const NAME = `Internal name, never sent, 1 to ${MAX_NAME} characters; it need not be unique.`
const SUBJECT = `Subject, 1 to ${MAX_SUBJECT} characters on one line; {{variable}} placeholders are filled when mail is sent.`
const BODY = `HTML, 1 to ${MAX_BODY.toLocaleString('en')} characters; {{variable}} placeholders are filled when mail is sent.`
const FROM = 'Address of the sender; its domain must be verified for the project.'
const DESCRIPTION = `Internal note, never sent, at most ${MAX_DESCRIPTION} characters.`
const FROM_NAME = `Display name of the sender, at most ${MAX_FROM_NAME} characters.`
const REPLY_TO = 'Address for replies; without it they go to the sender.'

export const createTemplateInput = z
  .object({
    name: name.describe(NAME),
    subject: subject.describe(SUBJECT),
    body: body.describe(BODY),
    from: email.describe(FROM),
    description: optional(description).describe(DESCRIPTION),
    fromName: optional(fromName).describe(FROM_NAME),
    replyTo: optional(email).describe(REPLY_TO),
    type: optional(messageType).describe('Kind of the messages sent from it; MARKETING by default.'),
  })
  .meta({
    description: 'The template to create.',
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
    name: name.optional().describe(NAME),
    subject: subject.optional().describe(SUBJECT),
    body: body.optional().describe(BODY),
    from: email.optional().describe(FROM),
    description: clearable(description).describe(`${DESCRIPTION} null removes it.`),
    fromName: clearable(fromName).describe(`${FROM_NAME} null removes it.`),
    replyTo: clearable(email).describe(`${REPLY_TO} null removes it.`),
    type: messageType.optional().describe('Kind of the messages sent from it.'),
  })
  .meta({
    description: 'Fields of a template to change; fields that are left out stay as they are.',
    examples: [{ subject: 'Good to have you here, {{name}}', replyTo: null }],
  })

export type CreateTemplateInput = z.output<typeof createTemplateInput>
export type UpdateTemplateInput = z.output<typeof updateTemplateInput>
