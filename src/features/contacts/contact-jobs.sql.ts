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

/** Notes how far job $2 of project $1 is, which is held: position $3, progress $4, result $5, last contact $6. */
export const advanceJob: Statement<object> = statement(
  'advance-contact-job',
  `update contact_jobs set position = $3::int, progress = $4::int, result = $5::jsonb, last_contact = $6::uuid
   where project_id = $1::uuid and id = $2::uuid`,
)

/** Ends job $2 of project $1 in state $3 at $5; its input, which is personal, is not needed any more. */
export const endJob: Statement<{ id: string }> = statement(
  'end-contact-job',
  `update contact_jobs set state = $3::job_state, failed_reason = $4, completed_at = $5::timestamptz,
     progress = case when $3::job_state = 'completed' then 100 else progress end, file = null, request = '{}'
   where project_id = $1::uuid and id = $2::uuid and state in ('waiting', 'active') returning id`,
)
