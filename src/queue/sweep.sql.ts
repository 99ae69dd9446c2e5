import { statement } from '../db/sql.ts'

/**
 * Takes the sweep of a kind unless a process has done it in the last `restMs`, by the database's clock.
 * A row: it is this process's.
 */
export const claimSweep = statement<{ kind: string; restMs: number }, { kind: string }>(
  'claim-work-sweep',
  `insert into work_sweeps as w (kind, swept_at) values (:kind, clock_timestamp())
   on conflict (kind) do update set swept_at = clock_timestamp()
   where w.swept_at < clock_timestamp() - :restMs::int * interval '1 millisecond' returning kind`,
)

/**
 * Projects whose work of a kind has failed: it will be tried again, or was given up in the last `minutes`.
 */
export const failedProjects = statement<
  { deadLetters: string; kind: string; minutes: number },
  { projectId: string }
>(
  'failed-projects',
  `select data ->> 'projectId' as "projectId" from pgboss.job
   where name = :deadLetters and state < 'active' and source_name = :kind
     and created_on > now() - :minutes::int * interval '1 minute'
   union
   select data ->> 'projectId' from pgboss.job where name = :kind and state = 'retry'`,
)
