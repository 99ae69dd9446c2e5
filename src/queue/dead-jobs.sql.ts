import { type Statement, statement } from '../db/sql.ts'

/** What pg-boss's own functions do not tell: counts of this moment, and the latest dead letters only. */

export type StateCount = { queue: string; state: string; count: number; oldestSeconds: number }

/**
 * How many jobs of the queues $1 are in which state; jobs in the queue of dead letters $2 count for the queue
 * that they come from, as `dead`.
 */
export const jobCounts: Statement<StateCount> = statement(
  'job-counts',
  `select name as queue, state::text as state, count(*)::int as count,
     greatest(0, extract(epoch from now() - min(start_after)))::int as "oldestSeconds"
   from pgboss.job where name = any($1::text[]) group by name, state
   union all
   select source_name, 'dead', count(*)::int, 0
   from pgboss.job where name = $2 and state < 'active' and source_name = any($1::text[]) group by source_name`,
)

export type DeadJob = {
  queue: string
  id: string
  projectId: string | null
  payload: object
  error: string | null
  attempts: number
  failedAt: Date
}

/** Of the queue of dead letters $1: those from queue $2, of project $3 (null: all of them), $4 at most. */
export const latestDeadJobs: Statement<DeadJob> = statement(
  'latest-dead-jobs',
  `select source_name as queue, id, data ->> 'projectId' as "projectId", data as payload,
     coalesce(source_output ->> 'message', source_output #>> '{}') as error,
     coalesce(source_retry_count, 0) + 1 as attempts, created_on as "failedAt"
   from pgboss.job
   where name = $1 and state < 'active' and source_name is not null
     and ($2::text is null or source_name = $2) and ($3::text is null or data ->> 'projectId' = $3)
   order by created_on desc, id desc limit $4::int`,
)

/** Of the queue of dead letters $1: those from queue $2, of project $3 and with ids $4 (null: all of them). */
export const deadJobIds: Statement<{ id: string }> = statement(
  'dead-job-ids',
  `select id from pgboss.job
   where name = $1 and state < 'active' and source_name = $2
     and ($3::text is null or data ->> 'projectId' = $3) and ($4::uuid[] is null or id = any($4::uuid[]))
   order by created_on, id`,
)
