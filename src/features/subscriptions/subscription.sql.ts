import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { statement } from '../../db/sql.ts'

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

/** The contact of a link. Keys: the primary ones. */
export const readLinkedContact = statement<
  { projectId: string; contactId: string; emailId: string },
  LinkedContact
>(
  'linked-contact',
  `select c.email, c.subscribed, e.to_email as "sentTo", p.name as "projectName", e.from_name as "fromName",
     e."from" as "fromEmail"
   from contacts c join projects p on p.id = c.project_id
     left join emails e on e.project_id = c.project_id and e.id = :emailId::uuid and e.contact_id = c.id
   where c.project_id = :projectId::uuid and c.id = :contactId::uuid and c.email not like '${ERASED}%'`,
)

/** `email` is the address that the contact must have. */
export const setSubscription = statement<
  {
    projectId: string
    contactId: string
    subscribed: boolean
    eventId: string
    source: string
    now: Date
    email: string
  },
  { known: boolean; heard: boolean }
>(
  'set-subscription',
  `with changed as (
     update contacts set subscribed = :subscribed::boolean, subscription_event_id = :eventId::uuid,
       updated_at = :now::timestamptz
     where project_id = :projectId::uuid and id = :contactId::uuid and email = :email
       and subscribed <> :subscribed::boolean
     returning project_id, id, :eventId::uuid as event_id, subscribed
   ),
   ${subscriptionCtes(':source')}
   select exists (select from contacts where project_id = :projectId::uuid and id = :contactId::uuid
     and email = :email) as known,
     ${heard('heard_event')} as heard`,
)
