import { type Statement, statement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'

/**
 * Locks job $2 of project $1 and says what its result is, as long as it is at position $3. No row when it was
 * cancelled or somebody else works on it.
 */
export const holdJob: Statement<{ result: JsonValue }> = statement(
  'hold-contact-job',
  `select result from contact_jobs
   where project_id = $1::uuid and id = $2::uuid and state = 'active' and position = $3::int for update`,
)

/**
 * Notes how far job $2 of project $1 is, which is held: position $3, progress $4, result $5, last contact $6, place
 * in its file $7 after $8 rows; $9 is how much comes next.
 */
export const advanceJob: Statement<object> = statement(
  'advance-contact-job',
  `update contact_jobs set position = $3::int, progress = $4::int, result = $5::jsonb, last_contact = $6::uuid,
     file_offset = $7::int, file_row = $8::int, step_size = $9::int, slow_tries = 0, advanced_at = clock_timestamp()
   where project_id = $1::uuid and id = $2::uuid`,
)

/**
 * The job of project $1 that has waited longest for its turn, but none that somebody is working on this moment.
 * Index: contact_jobs_unfinished.
 */
export const takeJob: Statement<{ id: string }> = statement(
  'take-contact-job',
  `update contact_jobs set state = 'active', advanced_at = clock_timestamp()
   where project_id = $1::uuid and id = (
     select id from contact_jobs where project_id = $1::uuid and state in ('waiting', 'active')
     order by advanced_at nulls first, id limit 1 for update skip locked)
   returning id`,
)

/** A chunk of job $2 of project $1 took too long: the next one is smaller. */
export const slowJob: Statement<{ tries: number }> = statement(
  'slow-contact-job',
  `update contact_jobs set step_size = greatest(1, step_size / 8), slow_tries = slow_tries + 1
   where project_id = $1::uuid and id = $2::uuid and state = 'active' returning slow_tries as tries`,
)

/** Projects with imports or bulk changes that have not ended. Index: contact_jobs_unfinished. */
export const projectsWithJobs: Statement<{ projectId: string }> = statement(
  'projects-with-contact-jobs',
  `select distinct project_id as "projectId" from contact_jobs where state in ('waiting', 'active')`,
)

/** Ends job $2 of project $1 in state $3 at $5; its input, which is personal, is not needed any more. */
export const endJob: Statement<{ id: string }> = statement(
  'end-contact-job',
  `update contact_jobs set state = $3::job_state, failed_reason = $4, completed_at = $5::timestamptz,
     progress = case when $3::job_state = 'completed' then 100 else progress end,
     file = null, survey = null, request = '{}'
   where project_id = $1::uuid and id = $2::uuid and state in ('waiting', 'active') returning id`,
)
