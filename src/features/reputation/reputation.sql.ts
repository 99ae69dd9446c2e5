import { analyticStatement, statement } from '../../db/sql.ts'
import type { ReputationLevel } from '../../generated/prisma/enums.ts'
import type { Windows } from './reputation.rules.ts'

const sums = (condition: string) =>
  `json_build_object(${['sent', 'bounced', 'complained']
    .map((column) => `'${column}', coalesce(sum(${column}) filter (where ${condition}), 0)`)
    .join(', ')})`

const rowsOf = (table: string) =>
  `select quarter, sent, bounced, complained from ${table} where project_id = :projectId::uuid`

/**
 * How all counted mail was received, and that of the last days, which begin at `from`. What is not folded yet is included.
 * Keys: mail_counts_pkey, mail_tallies_pkey.
 */
export const readMailWindows = analyticStatement<{ projectId: string; from: Date }, Windows>(
  `select ${sums('quarter >= :from::timestamptz')} as "sevenDays", ${sums('true')} as "allTime"
   from (${rowsOf('mail_counts')} union all ${rowsOf('mail_tallies')}) counted`,
)

/** Notes that the rates of the project have to be looked at. It waits while somebody looks at them. */
export const noteTroubles = statement<{ projectId: string; now: Date }>(
  'note-troubles-for-reputation',
  `insert into reputation_states (project_id, due_at) values (:projectId::uuid, :now::timestamptz)
   on conflict (project_id) do update set due_at = excluded.due_at`,
)

/** The level of the last time, locked. */
export const lockReputation = statement<{ projectId: string }, { level: ReputationLevel }>(
  'lock-reputation',
  'select level from reputation_states where project_id = :projectId::uuid for update',
)

/** Projects whose rates have to be looked at. Index: reputation_states_due_at_idx. */
export const projectsToCheck = statement<{ now: Date; limit: number }, { projectId: string }>(
  'projects-to-check-for-reputation',
  `select project_id as "projectId" from reputation_states where due_at <= :now::timestamptz
   order by due_at limit :limit::int`,
)
