import { z } from 'zod'
import type { Ctx } from '../../ctx.ts'
import { optional } from '../../lib/fields.ts'
import { isId } from '../../lib/ids.ts'
import { contactNotFound } from '../contacts/contacts.ts'
import { eventName, type TrackResult, trackEvent, trackInput } from './track.ts'

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

/** Records an event of a contact that is named by its address or by its id; see `trackEvent`. */
export async function trackContactEvent(
  ctx: Ctx,
  { contactId, name, email, event, ...rest }: z.output<typeof trackContactEventInput>,
): Promise<TrackResult> {
  const what = { ...rest, event: event ?? name ?? '' }
  if (contactId === undefined) return trackEvent(ctx, { ...what, email: email ?? '' })
  if (!isId(contactId)) throw contactNotFound()
  return trackEvent(ctx, { ...what, contactId })
}
