import { statement } from '../db/sql.ts'

/**
 * Facts that pg-boss's own functions do not tell: counts of this moment, and the latest dead letters only.
 */

export type StateCount = { queue: string; state: string; count: number; oldestSeconds: number }

/**
 * How many jobs of the queues are in which state; jobs in the queue of dead letters count for the queue
 * that they come from, as `dead`.
 */
export const jobCounts = statement<{ queues: string[]; deadLetters: string }, StateCount>(
  'job-counts',
  `select name as queue, state::text as state, count(*)::int as count,
     greatest(0, extract(epoch from now() - min(start_after)))::int as "oldestSeconds"
   from pgboss.job where name = any(:queues::text[]) group by name, state
   union all
   select source_name, 'dead', count(*)::int, 0
   from pgboss.job where name = :deadLetters and state < 'active' and source_name = any(:queues::text[])
     group by source_name`,
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

/** Dead letters from a queue, of a project (null: from all of them), the latest first. */
export const latestDeadJobs = statement<
  { deadLetters: string; queue: string | null; projectId: string | null; limit: number },
  DeadJob
>(
  'latest-dead-jobs',
  `select source_name as queue, id, data ->> 'projectId' as "projectId", data as payload,
     coalesce(source_output ->> 'message', source_output #>> '{}') as error,
     coalesce(source_retry_count, 0) + 1 as attempts, created_on as "failedAt"
   from pgboss.job
   where name = :deadLetters and state < 'active' and source_name is not null
     and (:queue::text is null or source_name = :queue)
     and (:projectId::text is null or data ->> 'projectId' = :projectId)
   order by created_on desc, id desc limit :limit::int`,
)

/** Dead letters from a queue, of a project and with ids (null: all of them), the oldest first. */
export const deadJobIds = statement<
  { deadLetters: string; queue: string; projectId: string | null; ids: string[] | null },
  { id: string }
>(
  'dead-job-ids',
  `select id from pgboss.job
   where name = :deadLetters and state < 'active' and source_name = :queue
     and (:projectId::text is null or data ->> 'projectId' = :projectId)
     and (:ids::uuid[] is null or id = any(:ids::uuid[]))
   order by created_on, id`,
)
