import { type Statement, statement } from './db/sql.ts'

/** Until the commit nobody else has the lock of the same quota $2 of project $1. */
export const lockQuota: Statement<object> = statement(
  'lock-quota',
  'select pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))::text',
)

type Used = { used: number }

const countOf = (table: string): Statement<Used> =>
  statement(`used-${table}`, `select count(*)::int as used from ${table} where project_id = $1::uuid`)

/** How much of each quota project $1 has used. Keys: the primary ones. */
export const usedOf = {
  segments: countOf('segments'),
  templates: countOf('templates'),
  domains: countOf('domains'),
  images: countOf('uploads'),
  imageBytes: statement<Used>(
    'used-image-bytes',
    'select coalesce(sum(size), 0)::float8 as used from uploads where project_id = $1::uuid',
  ),
}
