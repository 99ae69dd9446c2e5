import { statement } from '../../db/sql.ts'

/** A field of the project is gone. */
export const forgetFieldName = statement<{ projectId: string; name: string }>(
  'forget-field-name',
  'delete from contact_fields where project_id = :projectId::uuid and name = :name',
)
