import { contactCtes, eventCtes, heard } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, shortStatement } from '../../db/sql.ts'
import { rememberAnswer, reservationHolds } from '../../idempotency.sql.ts'
import { upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

export type TrackRow = {
  /** False: the key was rotated, or the project disabled, since it was remembered. */
  admitted: boolean
  /** False: there is no contact with this id. */
  known: boolean
  contactId: string | null
  /** Whether somebody listens for what has changed. */
  heard: boolean
}

const BY_EMAIL = 'select id as project_id, $4::uuid as id, $3::text as email from project'

/** The lock waits for a deletion that is under way: the contact is not made anew. */
const BY_ID = `select c.project_id, $4::uuid as id, c.email from project join contacts c on c.project_id = project.id
  where c.id = $3::uuid and c.email not like '${ERASED}%' for key share of c`

/**
 * $1 project, $2 key hash, $3 email, $4 contact id if new, $5 subscribed, $6 data to set, $7 data to unset,
 * $8 event id, $9 event name, $10 event data, $11 now.
 */
const trackText = ({ person = BY_EMAIL, gate = '', remember = '' }) => `
  with project as (
    select id from projects
    where id = $1::uuid and (public_key_hash = $2 or secret_hash = $2) and not disabled ${gate}
  ),
  person as (${person}),
  ${upsertContactCtes({ subscribed: '$5', defaultSubscribed: 'true', set: '$6', unset: '$7', now: '$11' })},
  ${contactCtes({ set: '$6', unset: '$7', source: "'track'", now: '$11' })},
  ${eventCtes(`select project_id, $8::uuid, id, $9, null::uuid, $10::jsonb, $11::timestamptz from contact`)}
  ${remember}
  select exists (select from project) as admitted, exists (select from person) as known,
    (select id from contact) as "contactId",
    ${heard('heard_contact', 'heard_event')} as heard`

/** Contact and event in one statement, so one round trip and one commit. */
export const track: Statement<TrackRow> = shortStatement('track', trackText({}))

/** The same for a contact that there is: $3 is its id. */
export const trackKnown: Statement<TrackRow> = shortStatement('track-known', trackText({ person: BY_ID }))

/** As `track`, and the answer is stored for the Idempotency-Key $12 with holder $13 and input hash $14. */
export const trackOnce: Statement<TrackRow> = shortStatement(
  'track-once',
  trackText({
    gate: `and ${reservationHolds('$1::uuid', '$12', '$13::uuid')}`,
    remember: `, answer as (
      select json_build_object('contact', id, 'event', $8::uuid, 'timestamp', $15::text)::text as response
      from contact
    ),
    remembered as (${rememberAnswer('$1::uuid', '$12', '$13::uuid', '$14')})`,
  }),
)
