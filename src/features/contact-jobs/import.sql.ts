import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { statement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import type { JsonValue } from '../../lib/json.ts'
import { type UpsertOutcome, upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

/** The bytes of an import's file from `from` on (the first byte is 1). */
export const pieceOfFile = statement<
  { projectId: string; id: string; from: number; length: number },
  { piece: Uint8Array | null }
>(
  'piece-of-file',
  `select substring(file from :from::int for :length::int) as piece from contact_jobs
   where project_id = :projectId::uuid and id = :id::uuid`,
)

export type StoredSurvey = { survey: JsonValue; total: number; position: number; offset: number; row: number }

/** The survey of an import's file, once it has been looked through, and how far the import is. */
export const surveyOfJob = statement<{ projectId: string; id: string }, StoredSurvey>(
  'survey-of-contact-job',
  `select survey, total, position, file_offset as offset, file_row as row from contact_jobs
   where project_id = :projectId::uuid and id = :id::uuid and survey is not null`,
)

/**
 * Keeps the survey of the file of an import: of `total` rows the next one begins at the byte `offset`, after `row`
 * others.
 */
export const noteSurvey = statement<{
  projectId: string
  id: string
  survey: string
  total: number
  offset: number
  row: number
}>(
  'note-survey-of-contact-job',
  `update contact_jobs set survey = :survey::jsonb, total = :total::int, file_offset = :offset::int,
     file_row = :row::int
   where project_id = :projectId::uuid and id = :id::uuid and state = 'active' and survey is null`,
)

/**
 * Creates or merges contacts: `rows` is a JSON list of { id, email, set } with an id for each contact that
 * may be new. An address may occur once.
 */
export const importContacts = statement<
  { projectId: string; rows: string; subscribed: boolean | null; now: Date },
  { email: string; outcome: UpsertOutcome; heard: Consumer[] }
>(
  'import-contacts',
  `with person as (
     select :projectId::uuid as project_id, id, email, set
     from json_to_recordset(:rows::json) as given (id uuid, email text, set jsonb)
   ),
   ${upsertContactCtes({
     subscribed: ':subscribed',
     defaultSubscribed: 'true',
     set: 'person.set',
     unset: `'{}'`,
   })},
   ${contactCtes({ set: 'person.set', unset: `'{}'`, source: `'import'` })}
   select email, outcome, ${heard('heard_contact')} as heard from contact`,
)
