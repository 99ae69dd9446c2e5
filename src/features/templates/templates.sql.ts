import { type Statement, statement } from '../../db/sql.ts'

/** How large the templates $2 of project $1 are, in their order: their text, and something for the rest. */
export const templateSizes: Statement<{ id: string; bytes: number }> = statement(
  'template-sizes',
  `select id, octet_length(body) + octet_length(subject) + 1000 as bytes from templates
   where project_id = $1::uuid and id = any($2::uuid[]) order by array_position($2::uuid[], id)`,
)
