import { isFurtherKey } from '../../admission/access.sql.ts'
import { type HeldKey, REMEMBER_ANSWER, RESERVATION_HOLDS } from '../../admission/idempotency.sql.ts'
import { contactCtes, heard, plainEventCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { shortStatement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

export type TrackRow = {
  /** False: the key was rotated, or the project disabled, since it was remembered. */
  admitted: boolean
  /** False: there is no contact with this id. */
  known: boolean
  contactId: string | null
  /** Whether a consumer listens for the change. */
  heard: Consumer[]
}

export type TrackParams = {
  projectId: string
  keyHash: Buffer | null
  /** Id for the contact, if it is new. */
  newContactId: string
  subscribed: boolean | null
  /** JSON, and keys: what changes of the contact's data. */
  set: string
  unset: string[]
  eventId: string
  eventName: string
  /** JSON. */
  eventData: string
  now: Date
}

const BY_EMAIL = 'select id as project_id, :newContactId::uuid as id, :email::text as email from project'

/** The lock waits for a deletion that is under way, so the contact is not created anew. */
const BY_ID = `select c.project_id, :newContactId::uuid as id, c.email
  from project join contacts c on c.project_id = project.id
  where c.id = :contactId::uuid and c.email not like '${ERASED}%' for key share of c`

const trackText = ({ person = BY_EMAIL, gate = '', remember = '' }) => `
  with project as (
    select id from projects
    where id = :projectId::uuid and (public_key_hash = :keyHash or secret_hash = :keyHash or ${isFurtherKey('projects.id')})
      and not disabled ${gate}
  ),
  person as (${person}),
  ${upsertContactCtes({ subscribed: ':subscribed', defaultSubscribed: 'true', set: ':set', unset: ':unset' })},
  ${contactCtes({ set: ':set', unset: ':unset', source: "'track'" })},
  ${plainEventCtes(`select project_id, :eventId::uuid, id, :eventName, null::uuid, :eventData::jsonb, :now::timestamptz
    from contact`)}
  ${remember}
  select exists (select from project) as admitted, exists (select from person) as known,
    (select id from contact) as "contactId",
    ${heard('heard_contact', 'heard_event')} as heard`

/** Contact and event in one statement, so one round trip and one commit. */
export const track = shortStatement<TrackParams & { email: string }, TrackRow>('track', trackText({}))

/** The same for an existing contact. */
export const trackKnown = shortStatement<TrackParams & { contactId: string }, TrackRow>(
  'track-known',
  trackText({ person: BY_ID }),
)

/** Does the same as `track`, and stores the answer for an Idempotency-Key. */
export const trackOnce = shortStatement<
  TrackParams & { email: string; timestamp: string } & HeldKey,
  TrackRow
>(
  'track-once',
  trackText({
    gate: `and ${RESERVATION_HOLDS}`,
    remember: `, answer as (
      select json_build_object('contact', id, 'event', :eventId::uuid, 'timestamp', :timestamp::text)::text
        as response
      from contact
    ),
    remembered as (${REMEMBER_ANSWER})`,
  }),
)
