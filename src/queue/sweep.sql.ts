import { type Statement, statement } from '../db/sql.ts'

/**
 * Takes the sweep of a kind ($1) unless a process has done it in the last $2 milliseconds, by the database's clock.
 * A row: it is this process's.
 */
export const claimSweep: Statement<{ kind: string }> = statement(
  'claim-work-sweep',
  `insert into work_sweeps as w (kind, swept_at) values ($1, clock_timestamp())
   on conflict (kind) do update set swept_at = clock_timestamp()
   where w.swept_at < clock_timestamp() - $2::int * interval '1 millisecond' returning kind`,
)

/**
 * Projects whose work of kind $2 has failed: it will be tried again, or was given up in the last $3 minutes; $1 is the
 * queue of dead letters.
 */
export const failedProjects: Statement<{ projectId: string }> = statement(
  'failed-projects',
  `select data ->> 'projectId' as "projectId" from pgboss.job
   where name = $1 and state < 'active' and source_name = $2
     and created_on > now() - $3::int * interval '1 minute'
   union
   select data ->> 'projectId' from pgboss.job where name = $2 and state = 'retry'`,
)
