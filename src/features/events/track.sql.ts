import { type Statement, shortStatement } from '../../db/sql.ts'
import { rememberAnswer, reservationHolds } from '../../idempotency.sql.ts'
import { contactChangeCte, subscriptionEventCte, upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

export type TrackRow = {
  /** False: the key was rotated, or the project disabled, since it was remembered. */
  admitted: boolean
  contactId: string | null
}

/**
 * $1 project, $2 key hash, $3 email, $4 contact id if new, $5 subscribed, $6 data to set, $7 data to unset,
 * $8 event id, $9 event name, $10 event data, $11 now.
 */
const trackText = (gate: string, remember: string) => `
  with project as (
    select id from projects
    where id = $1::uuid and (public_key_hash = $2 or secret_hash = $2) and not disabled ${gate}
  ),
  person as (select id as project_id, $4::uuid as id, $3::text as email from project),
  ${upsertContactCtes({ subscribed: '$5', defaultSubscribed: 'true', set: '$6', unset: '$7', now: '$11' })},
  ${subscriptionEventCte("'track'", '$11')},
  ${contactChangeCte({ always: true })},
  event as (
    insert into events (project_id, id, contact_id, name, data, created_at)
    select project_id, $8::uuid, id, $9, $10::jsonb, $11::timestamptz from contact
  )
  ${remember}
  select exists (select from project) as admitted, (select id from contact) as "contactId"`

/** Contact and event in one statement, so one round trip and one commit. */
export const track: Statement<TrackRow> = shortStatement('track', trackText('', ''))

/** The same, and the answer is stored for the Idempotency-Key $12 with holder $13 and input hash $14. */
export const trackOnce: Statement<TrackRow> = shortStatement(
  'track-once',
  trackText(
    `and ${reservationHolds('$1::uuid', '$12', '$13::uuid')}`,
    `, answer as (
      select json_build_object('contact', id, 'event', $8::uuid, 'timestamp', $15::text)::text as response
      from contact
    ),
    remembered as (${rememberAnswer('$1::uuid', '$12', '$13::uuid', '$14')})`,
  ),
)
