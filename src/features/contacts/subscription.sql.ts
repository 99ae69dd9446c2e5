import { type Statement, statement } from '../../db/sql.ts'
import { PROJECT_TRACKS } from './upsert-contact.sql.ts'

/** $1 project, $2 contact, $3 subscribed, $4 event id, $5 source, $6 now. */
export const setSubscription: Statement<{ known: boolean }> = statement(
  'set-subscription',
  `with changed as (
     update contacts set subscribed = $3::boolean, subscription_event_id = $4::uuid, updated_at = $6::timestamptz
     where project_id = $1::uuid and id = $2::uuid and subscribed <> $3::boolean
     returning project_id, id
   ),
   event as (
     insert into events (project_id, id, contact_id, name, data, created_at)
     select project_id, $4::uuid, id,
       case when $3::boolean then 'contact.subscribed' else 'contact.unsubscribed' end,
       jsonb_build_object('source', $5::text), $6::timestamptz
     from changed
   ),
   followed as (
     insert into contact_changes (project_id, id, contact_id)
     select project_id, $4::uuid, id from changed where ${PROJECT_TRACKS}
   )
   select exists (select from contacts where project_id = $1::uuid and id = $2::uuid) as known`,
)
