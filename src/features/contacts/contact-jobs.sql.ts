import { type Statement, statement } from '../../db/sql.ts'

/**
 * Notes how far job $2 of project $1 is: from position $3, by which two workers with the same job find out, to
 * position $4, progress $5, result $6, last contact $7. Returns no row when the job was cancelled or somebody
 * else works on it.
 */
export const advanceJob: Statement<{ id: string }> = statement(
  'advance-contact-job',
  `update contact_jobs set position = $4::int, progress = $5::int, result = $6::jsonb, last_contact = $7::uuid
   where project_id = $1::uuid and id = $2::uuid and state = 'active' and position = $3::int returning id`,
)

/** Ends job $2 of project $1 in state $3 at $5; its input, which is personal, is not needed any more. */
export const endJob: Statement<{ id: string }> = statement(
  'end-contact-job',
  `update contact_jobs set state = $3::job_state, failed_reason = $4, completed_at = $5::timestamptz,
     progress = case when $3::job_state = 'completed' then 100 else progress end, file = null, request = '{}'
   where project_id = $1::uuid and id = $2::uuid and state in ('waiting', 'active') returning id`,
)
