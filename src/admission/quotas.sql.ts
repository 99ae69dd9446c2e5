import { statement } from '../db/sql.ts'

/** Until the commit no other transaction has the lock of the same quota of the project. */
export const lockQuota = statement<{ projectId: string; quota: string }>(
  'lock-quota',
  'select pg_advisory_xact_lock(hashtextextended(:projectId::text || :quota::text, 0))::text',
)

type Asked = { projectId: string }
type Used = { used: number }

const countOf = (table: string) =>
  statement<Asked, Used>(
    `used-${table}`,
    `select count(*)::int as used from ${table} where project_id = :projectId::uuid`,
  )

/** How much of each quota the project has used. Keys: the primary ones. */
export const USED_OF = {
  segments: countOf('segments'),
  templates: countOf('templates'),
  domains: countOf('domains'),
  campaigns: countOf('campaigns'),
  workflows: countOf('workflows'),
  images: countOf('uploads'),
  imageBytes: statement<Asked, Used>(
    'used-image-bytes',
    'select coalesce(sum(size), 0)::float8 as used from uploads where project_id = :projectId::uuid',
  ),
}
