import { z } from 'zod'
import { id, line, optional } from '../../lib/fields.ts'
import { messageType } from '../../messages/message.input.ts'
import { MAX_SUBJECT } from '../../messages/subject.rules.ts'
import { contactData } from '../contacts/contacts.input.ts'
import { requiredWithout } from './send.input.ts'

export const previewTemplateInput = z
  .object({
    templateId: optional(id).describe(
      'Id of a template, a UUID. It gives subject, body and type; fields of the input win.',
    ),
    subject: optional(line(MAX_SUBJECT).min(1)).describe(
      `Subject, 1 to ${MAX_SUBJECT} characters, with {{variable}} placeholders. Required without a template.`,
    ),
    body: optional(z.string().min(1)).describe(
      'HTML with {{variable}} placeholders. Required without a template.',
    ),
    type: optional(messageType).describe(
      'Kind of the message; by default that of the template, without one MARKETING.',
    ),
    data: optional(contactData).describe(
      'Variables, as `data` of a message to send; they win over those of the contact.',
    ),
    contactId: optional(id).describe(
      'Id of the contact that the message is shown for, a UUID; by default it is shown for recipient@example.com, who has no data.',
    ),
  })
  .refine(...requiredWithout('templateId', 'subject'))
  .refine(...requiredWithout('templateId', 'body'))
  .meta({ description: 'The message to render, and the contact to render it for.' })
