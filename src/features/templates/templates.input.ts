import { z } from 'zod'
import { clearable, optional } from '../../lib/fields.ts'
import { MESSAGE_SCHEMAS, MESSAGE_TEXTS, messageType } from '../../messages/message.input.ts'

const { name, subject, body, from, description, fromName, replyTo } = MESSAGE_SCHEMAS

export const createTemplateInput = z
  .object({
    name: name.describe(MESSAGE_TEXTS.name),
    subject: subject.describe(MESSAGE_TEXTS.subject),
    body: body.describe(MESSAGE_TEXTS.body),
    from: from.describe(MESSAGE_TEXTS.from),
    description: optional(description).describe(MESSAGE_TEXTS.description),
    fromName: optional(fromName).describe(MESSAGE_TEXTS.fromName),
    replyTo: optional(replyTo).describe(MESSAGE_TEXTS.replyTo),
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
    name: name.optional().describe(MESSAGE_TEXTS.name),
    subject: subject.optional().describe(MESSAGE_TEXTS.subject),
    body: body.optional().describe(MESSAGE_TEXTS.body),
    from: from.optional().describe(MESSAGE_TEXTS.from),
    description: clearable(description).describe(`${MESSAGE_TEXTS.description} null removes it.`),
    fromName: clearable(fromName).describe(`${MESSAGE_TEXTS.fromName} null removes it.`),
    replyTo: clearable(replyTo).describe(`${MESSAGE_TEXTS.replyTo} null removes it.`),
    type: messageType.optional().describe('Kind of the messages sent from it.'),
  })
  .meta({
    description: 'Fields of a template to change; fields that are left out stay as they are.',
    examples: [{ subject: 'Good to have you here, {{name}}', replyTo: null }],
  })

export type CreateTemplateInput = z.output<typeof createTemplateInput>
export type UpdateTemplateInput = z.output<typeof updateTemplateInput>
