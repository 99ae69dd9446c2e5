import { statement } from '../db/sql.ts'

/**
 * The last one of so many contacts (`offset` is one less) after an id and up to another; no row when there are fewer.
 * Whoever goes over an audience does it by such ranges: a statement looks at one of them, so that a condition that lets
 * hardly anybody through takes no longer than others. Key: contacts_pkey.
 */
export const rangeEnd = statement<
  { projectId: string; after: string; until: string; offset: number },
  { id: string }
>(
  'contact-range-end',
  `(select id from contacts where project_id = :projectId::uuid and id > :after::uuid and id <= :until::uuid
    order by id offset :offset::int limit 1)`,
)
