import { z } from 'zod'
import { parseInstant } from '../../../audience/dates.rules.ts'
import { MAX_EVENT_NAME } from '../../../changes/event-names.rules.ts'
import { id, jsonObject, line, optional } from '../../../lib/fields.ts'
import { email } from '../../../messages/message.input.ts'

export const MAX_EVENTS = 100

const HAS_OFFSET = /(Z|[+-]\d\d:?\d\d)$/

const time = z
  .string()
  .refine((text) => HAS_OFFSET.test(text) && Number.isFinite(parseInstant(text) ?? Number.NaN), {
    error: 'must be a time with its offset, such as 2030-05-01T08:00:00Z',
    params: { code: 'invalid_date' },
  })

const contact = z
  .object({
    email: email.describe('Address of the contact.'),
    subscribed: optional(z.boolean()).describe('Whether it is subscribed; true by default.'),
    data: optional(jsonObject).describe('Custom fields; none by default.'),
  })
  .meta({ description: 'A contact that need not exist.' })

const event = z
  .object({
    name: line(MAX_EVENT_NAME).min(1).describe('Name of the event, one of the service as well.'),
    at: time.describe('Time of the event, ISO 8601 with an offset.'),
    data: optional(jsonObject).describe('Data of the event; none by default.'),
  })
  .meta({ description: 'An event that happens to the contact in the simulation.' })

export const simulateWorkflowInput = z
  .object({
    contactId: optional(id).describe('Id of a contact of the project; or `contact`.'),
    contact: optional(contact).describe('A contact that need not exist; or `contactId`.'),
    events: optional(z.array(event).max(MAX_EVENTS)).describe(
      `What happens to the contact, at most ${MAX_EVENTS} events. The first one that the trigger names starts the execution.`,
    ),
    context: optional(jsonObject).describe(
      'Starts the execution at once with these variables, as a request does; without it the trigger decides.',
    ),
    startAt: optional(time).describe(
      'Time at which the simulation begins, ISO 8601 with an offset; now by default.',
    ),
  })
  .refine(({ contactId, contact: given }) => (contactId === undefined) !== (given === undefined), {
    error: 'is required, or contact; not both',
    path: ['contactId'],
    params: { code: 'required' },
  })
  .meta({
    description: 'Who goes through the workflow, and what happens meanwhile. Nothing of it is stored.',
    examples: [
      {
        contact: { email: 'ada@example.org', data: { plan: 'pro' } },
        events: [{ name: 'signed.up', at: '2030-05-01T08:00:00Z' }],
      },
    ],
  })
