import { type Statement, statement } from '../../db/sql.ts'
import type { UpsertOutcome } from './contacts.sql.ts'
import { contactChangeCte, subscriptionEventCte, upsertContactCtes } from './upsert-contact.sql.ts'

/** Of the file of import $2 of project $1 the bytes from $3 on (the first is 1), at most $4. */
export const pieceOfFile: Statement<{ piece: Uint8Array | null }> = statement(
  'piece-of-file',
  `select substring(file from $3::int for $4::int) as piece from contact_jobs
   where project_id = $1::uuid and id = $2::uuid`,
)

/**
 * Makes or merges contacts of project $1: rows $2 as a JSON list of { id, email, set } with an id for each
 * contact that may be new, all with subscribed $3; $4 now. An address may be there once.
 */
export const importContacts: Statement<{ email: string; outcome: UpsertOutcome }> = statement(
  'import-contacts',
  `with person as (
     select $1::uuid as project_id, id, email, set
     from json_to_recordset($2::json) as given (id uuid, email text, set jsonb)
   ),
   ${upsertContactCtes({
     subscribed: '$3',
     defaultSubscribed: 'true',
     set: 'person.set',
     unset: `'{}'`,
     now: '$4',
   })},
   ${subscriptionEventCte(`'import'`, '$4')},
   ${contactChangeCte()}
   select email, outcome from contact`,
)

/** Makes contacts of project $1 with the ids $2 and addresses $3, subscribed $4, unless there are such; $5 now. */
export const ensureContacts: Statement<{ id: string; email: string; outcome: UpsertOutcome }> = statement(
  'ensure-contacts',
  `with person as (
     select $1::uuid as project_id, id, email from unnest($2::uuid[], $3::text[]) as given (id, email)
   ),
   ${upsertContactCtes({
     subscribed: 'null',
     defaultSubscribed: '$4',
     set: `'{}'`,
     unset: `'{}'`,
     now: '$5',
   })},
   ${contactChangeCte()}
   select id, email, outcome from contact`,
)
