import type { z } from 'zod'
import type { Ctx } from '../../ctx.ts'
import { isId } from '../../lib/ids.ts'
import { contactNotFound } from '../contacts/contacts.ts'
import type { trackContactEventInput } from './track.input.ts'
import { type TrackResult, trackEvent } from './track.ts'

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
