import { type Statement, statement } from '../../db/sql.ts'

/** Names of custom fields that one project may have on record; contacts may have others all the same. */
const MAX_NAMES = 10_000

/** Puts the names $2, with the types $3, on record for project $1 at $4. */
export const recordFieldNames: Statement<object> = statement(
  'record-field-names',
  `insert into contact_fields (project_id, name, type, created_at)
   select $1::uuid, name, type, $4::timestamptz from unnest($2::text[], $3::text[]) as given (name, type)
   where (select count(*) from (
     select from contact_fields where project_id = $1::uuid limit ${MAX_NAMES}) recorded) < ${MAX_NAMES}
   on conflict do nothing`,
)

/** Field $2 of project $1 is gone. */
export const forgetFieldName: Statement<object> = statement(
  'forget-field-name',
  'delete from contact_fields where project_id = $1::uuid and name = $2',
)
