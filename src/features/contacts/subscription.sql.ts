import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement } from '../../db/sql.ts'

export type LinkedContact = {
  email: string
  subscribed: boolean
  /** Where the mail went; null when it is not known (any more). */
  sentTo: string | null
  projectName: string
  /** The sender of that mail, likewise; the name is also null when it had none. */
  fromName: string | null
  fromEmail: string | null
}

/** The contact of a link. $1 project, $2 contact, $3 email. Keys: the primary ones. */
export const readLinkedContact: Statement<LinkedContact> = statement(
  'linked-contact',
  `select c.email, c.subscribed, e.to_email as "sentTo", p.name as "projectName", e.from_name as "fromName",
     e."from" as "fromEmail"
   from contacts c join projects p on p.id = c.project_id
     left join emails e on e.project_id = c.project_id and e.id = $3::uuid and e.contact_id = c.id
   where c.project_id = $1::uuid and c.id = $2::uuid and c.email not like '${ERASED}%'`,
)

/** $1 project, $2 contact, $3 subscribed, $4 event id, $5 source, $6 now, $7 the address that the contact must have. */
export const setSubscription: Statement<{ known: boolean; heard: boolean }> = statement(
  'set-subscription',
  `with changed as (
     update contacts set subscribed = $3::boolean, subscription_event_id = $4::uuid, updated_at = $6::timestamptz
     where project_id = $1::uuid and id = $2::uuid and email = $7 and subscribed <> $3::boolean
     returning project_id, id, $4::uuid as event_id, subscribed
   ),
   ${subscriptionCtes('$5', '$6')}
   select exists (select from contacts where project_id = $1::uuid and id = $2::uuid and email = $7) as known,
     ${heard('heard_event')} as heard`,
)
