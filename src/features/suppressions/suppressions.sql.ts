import { analyticStatement, statement } from '../../db/sql.ts'
import type { Suppression } from '../../generated/prisma/client.ts'
import type { SuppressionReason } from '../../generated/prisma/enums.ts'

const COLUMNS = 'project_id as "projectId", email, reason, email_id as "emailId", created_at as "createdAt"'

/** An address that is on the list gets another reason only when that weighs more. */
export const WEIGHTS: Record<SuppressionReason, number> = {
  SOFT_BOUNCES: 1,
  BOUNCE: 2,
  MANUAL: 2,
  COMPLAINT: 3,
}

const weightOf = (reason: string): string =>
  `case ${reason} ${Object.entries(WEIGHTS)
    .map(([name, weight]) => `when '${name}' then ${weight}`)
    .join(' ')} end`

/**
 * Puts addresses on the list; the arrays have an element an address, in alphabetical order, so that nobody waits for somebody who waits
 * for them. One that is on it gets a reason that weighs more.
 */
export const insertSuppressions = statement<{
  projectId: string
  now: Date
  emails: string[]
  reasons: SuppressionReason[]
  emailIds: (string | null)[]
}>(
  'insert-suppressions',
  `insert into suppressions as s (project_id, email, reason, email_id, created_at)
   select :projectId::uuid, email, reason, email_id, :now::timestamptz
   from unnest(:emails::text[], :reasons::suppression_reason[], :emailIds::uuid[]) as n (email, reason, email_id)
   on conflict (project_id, email) do update
     set reason = excluded.reason, email_id = excluded.email_id, created_at = excluded.created_at
     where ${weightOf('s.reason')} < ${weightOf('excluded.reason')}`,
)

type Asked = { projectId: string; search: string | null; reason: SuppressionReason | null }

const WANTED = `project_id = :projectId::uuid and (:search::text is null or email like :search)
  and (:reason::suppression_reason is null or reason = :reason::suppression_reason)`

/** Addresses of the list behind `after`, in alphabetical order. Key: suppressions_pkey. */
export const suppressionPage = analyticStatement<Asked & { after: string; limit: number }, Suppression>(
  `select ${COLUMNS} from suppressions where ${WANTED} and email > :after order by email limit :limit::int`,
)

/** How many addresses the list has. */
export const countSuppressions = analyticStatement<Asked, { count: number }>(
  `select count(*)::int as count from suppressions where ${WANTED}`,
)
