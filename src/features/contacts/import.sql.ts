import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { type Statement, statement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'
import type { UpsertOutcome } from './contacts.sql.ts'
import { upsertContactCtes } from './upsert-contact.sql.ts'

/** Of the file of import $2 of project $1 the bytes from $3 on (the first is 1), at most $4. */
export const pieceOfFile: Statement<{ piece: Uint8Array | null }> = statement(
  'piece-of-file',
  `select substring(file from $3::int for $4::int) as piece from contact_jobs
   where project_id = $1::uuid and id = $2::uuid`,
)

export type StoredSurvey = { survey: JsonValue; total: number; position: number; offset: number; row: number }

/** What is known of the file of import $2 of project $1, once it has been looked through, and how far the import is. */
export const surveyOfJob: Statement<StoredSurvey> = statement(
  'survey-of-contact-job',
  `select survey, total, position, file_offset as offset, file_row as row from contact_jobs
   where project_id = $1::uuid and id = $2::uuid and survey is not null`,
)

/** Keeps the survey $3 of the file of import $2 of project $1: $4 rows, of which the next one begins at byte $5 after $6 rows. */
export const noteSurvey: Statement<object> = statement(
  'note-survey-of-contact-job',
  `update contact_jobs set survey = $3::jsonb, total = $4::int, file_offset = $5::int, file_row = $6::int
   where project_id = $1::uuid and id = $2::uuid and state = 'active' and survey is null`,
)

/**
 * Makes or merges contacts of project $1: rows $2 as a JSON list of { id, email, set } with an id for each
 * contact that may be new, all with subscribed $3; $4 now. An address may be there once.
 */
export const importContacts: Statement<{ email: string; outcome: UpsertOutcome; heard: boolean }> = statement(
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
   ${contactCtes({ set: 'person.set', unset: `'{}'`, source: `'import'`, now: '$4' })}
   select email, outcome, ${heard('heard_contact')} as heard from contact`,
)

/** Makes contacts of project $1 with the ids $2 and addresses $3, subscribed $4, unless there are such; $5 now. */
export const ensureContacts: Statement<{
  id: string
  email: string
  outcome: UpsertOutcome
  heard: boolean
}> = statement(
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
   ${contactCtes({ set: `'{}'`, unset: `'{}'`, source: `'api'`, now: '$5' })}
   select id, email, outcome, ${heard('heard_contact')} as heard from contact`,
)
