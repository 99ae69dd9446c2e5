import { z } from 'zod'
import { isReservedEvent, MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { optional } from '../../lib/fields.ts'
import { email } from '../../messages/message.input.ts'
import { contactData } from '../contacts/contacts.input.ts'

const eventName = z
  .string()
  .min(1)
  .max(MAX_EVENT_NAME)
  .refine((name) => !isReservedEvent(name), {
    error: 'is reserved: the service writes this event itself',
    params: { code: 'reserved_event' },
  })
  .describe(
    'Name of the event, 1 to 255 characters. Names that the service uses for its own events are refused.',
  )

export const trackInput = z
  .object({
    email: email.describe('Address of the contact; one that is new is created.'),
    event: eventName,
    subscribed: optional(z.boolean()).describe(
      'Whether marketing mail may be sent. New contacts are subscribed unless this is false; existing ones keep their state unless it is given.',
    ),
    data: optional(contactData).describe(
      'Data stored on the contact and with the event, at most 64 KB. null deletes a key, "" is ignored, { value, persistent: false } goes to the event only.',
    ),
  })
  .meta({
    description: 'The event to record, and the contact by its address.',
    examples: [{ email: 'ada@example.org', event: 'signed_up', data: { plan: 'pro' } }],
  })

const needed = (message: string, field: string) => ({
  error: message,
  path: [field],
  params: { code: 'required' },
})

export const trackContactEventInput = z
  .object({
    ...trackInput.shape,
    email: optional(trackInput.shape.email).describe(
      'Address of the contact; one that is new is created. Either it or `contactId` must be given.',
    ),
    event: optional(eventName).describe(
      'Name of the event, 1 to 255 characters. Either it or `name` must be given.',
    ),
    contactId: optional(z.string().max(64)).describe(
      'Id of an existing contact, a UUID; instead of `email`.',
    ),
    name: optional(eventName).describe('Another name of the field `event`, which wins when both are given.'),
  })
  .refine(({ email, contactId }) => email !== undefined || contactId !== undefined, {
    ...needed('is required, or contactId', 'email'),
  })
  .refine(({ event, name }) => event !== undefined || name !== undefined, {
    ...needed('is required, or name', 'event'),
  })
  .meta({
    description: 'The event to record, and the contact by its address or its id.',
    examples: [
      { name: 'signed_up', contactId: '0197a3c2-5e00-7000-8000-4d61696c7772', data: { plan: 'pro' } },
    ],
  })
