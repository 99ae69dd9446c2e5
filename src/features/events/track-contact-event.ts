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
    email: optional(trackInput.shape.email).describe('The contact; it is made when it is new.'),
    event: optional(eventName),
    contactId: optional(z.string().max(64)).describe('Instead of `email`: the id of a contact.'),
    name: optional(eventName).describe('The same as `event`.'),
  })
  .refine(({ email, contactId }) => email !== undefined || contactId !== undefined, {
    ...needed('is required, or contactId', 'email'),
  })
  .refine(({ event, name }) => event !== undefined || name !== undefined, {
    ...needed('is required, or name', 'event'),
  })
  .meta({
    description: 'Something that a contact did.',
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
