import type { z } from 'zod'
import { refusalOf } from '../../admission/access.ts'
import { recordEventName } from '../../admission/recorded-names.ts'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { violates } from '../../db/sql.ts'
import { serviceUnavailable } from '../../errors.ts'
import { retried } from '../../lib/async/retried.ts'
import { newId } from '../../lib/ids.ts'
import { MAX_DATA_BYTES, readData } from '../contacts/contact-data.rules.ts'
import { contactNotFound, refuseTooLarge } from '../contacts/contacts.ts'
import { dataTooLarge, recordFieldNames } from '../contacts/field-names.ts'
import type { trackInput } from './track.input.ts'
import { type TrackParams, type TrackRow, track, trackKnown, trackOnce } from './track.sql.ts'

/** The contact is named by its address, or by its id. */
type Tracked = Omit<z.output<typeof trackInput>, 'email'> & ({ email: string } | { contactId: string })
export type TrackResult = { contact: string; event: string; timestamp: Date }

/**
 * Creates or merges the contact and records the event, in one commit and one round trip, once its names are recorded.
 * Throws CONTACT_NOT_FOUND when there is none with the id, VALIDATION_ERROR for new names beyond a quota.
 */
export async function trackEvent(ctx: Ctx, input: Tracked): Promise<TrackResult> {
  const change = readData(input.data)
  const eventData = JSON.stringify(change.values)
  if (Buffer.byteLength(eventData) > MAX_DATA_BYTES) throw dataTooLarge()
  await recordFieldNames(ctx, change.set)
  await recordEventName(ctx, input.event, 'event')
  const result = await retried(async () => {
    // Each attempt has an id of its own: events are counted by ids, which must not be late.
    const now = ctx.now()
    const eventId = newId(now)
    const params = {
      projectId: projectIdOf(ctx),
      keyHash: ctx.actor.kind === 'key' ? ctx.actor.keyHash : null,
      newContactId: newId(now),
      subscribed: input.subscribed ?? null,
      set: JSON.stringify(change.set),
      unset: change.unset,
      eventId,
      eventName: input.event,
      eventData,
      now,
    }
    const [row] = await record(ctx, input, params).catch(afterFailure)
    if (!row?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
    if (!row.known) throw contactNotFound()
    if (!row.contactId) return undefined
    wakeFollowers(ctx, [row])
    return { contact: row.contactId, event: eventId, timestamp: now }
  })
  if (!result) throw serviceUnavailable()
  return result
}

/** With an Idempotency-Key the answer is stored in the same statement. */
function record(ctx: Ctx, input: Tracked, params: TrackParams): Promise<TrackRow[]> {
  if ('contactId' in input) return ctx.sql(trackKnown, { ...params, contactId: input.contactId })
  const { email } = input
  if (!ctx.heldKey) return ctx.sql(track, { ...params, email })
  return ctx.sql(trackOnce, { ...params, ...ctx.heldKey, email, timestamp: params.now.toISOString() })
}

/** Without a contact the statement runs again: another request has deleted this one meanwhile. */
function afterFailure(error: unknown): TrackRow[] {
  if (violates(error, 'events_project_id_contact_id_fkey'))
    return [{ admitted: true, known: true, contactId: null, heard: [] }]
  return refuseTooLarge(error)
}
