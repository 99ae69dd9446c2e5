import { statement } from '../../db/sql.ts'

/** How large templates are, in the order of their ids: their text, and something for the rest. */
export const templateSizes = statement<{ projectId: string; ids: string[] }, { id: string; bytes: number }>(
  'template-sizes',
  `select id, octet_length(body) + octet_length(subject) + 1000 as bytes from templates
   where project_id = :projectId::uuid and id = any(:ids::uuid[]) order by array_position(:ids::uuid[], id)`,
)
