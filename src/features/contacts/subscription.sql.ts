import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement } from '../../db/sql.ts'

/** $1 project, $2 contact, $3 subscribed, $4 event id, $5 source, $6 now. */
export const setSubscription: Statement<{ known: boolean; heard: boolean }> = statement(
  'set-subscription',
  `with changed as (
     update contacts set subscribed = $3::boolean, subscription_event_id = $4::uuid, updated_at = $6::timestamptz
     where project_id = $1::uuid and id = $2::uuid and email not like '${ERASED}%'
       and subscribed <> $3::boolean
     returning project_id, id, $4::uuid as event_id, subscribed
   ),
   ${subscriptionCtes('$5', '$6')}
   select exists (select from contacts where project_id = $1::uuid and id = $2::uuid
     and email not like '${ERASED}%') as known,
     ${heard('heard_event')} as heard`,
)
