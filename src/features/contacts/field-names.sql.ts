import { type Statement, statement } from '../../db/sql.ts'

/** Field $2 of project $1 is gone. */
export const forgetFieldName: Statement<object> = statement(
  'forget-field-name',
  'delete from contact_fields where project_id = $1::uuid and name = $2',
)
