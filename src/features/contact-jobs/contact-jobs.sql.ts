import { type None, statement } from '../../db/sql.ts'
import type { JobState } from '../../generated/prisma/enums.ts'
import type { JsonValue } from '../../lib/json.ts'

/**
 * Locks a job and returns its result, as long as it is at that position. Returns no row when it was cancelled
 * or another worker has it.
 */
export const holdJob = statement<{ projectId: string; id: string; position: number }, { result: JsonValue }>(
  'hold-contact-job',
  `select result from contact_jobs
   where project_id = :projectId::uuid and id = :id::uuid and state = 'active' and position = :position::int
     for update`,
)

/**
 * Notes how far a job is, which is held: it goes on at the byte `fileOffset` of its file, after `fileRow`
 * rows, with `stepSize` contacts.
 */
export const advanceJob = statement<{
  projectId: string
  id: string
  position: number
  progress: number
  result: string
  lastContact: string | null
  fileOffset: number
  fileRow: number
  stepSize: number
}>(
  'advance-contact-job',
  `update contact_jobs set position = :position::int, progress = :progress::int, result = :result::jsonb,
     last_contact = :lastContact::uuid, file_offset = :fileOffset::int, file_row = :fileRow::int,
     step_size = :stepSize::int, slow_tries = 0, advanced_at = clock_timestamp()
   where project_id = :projectId::uuid and id = :id::uuid`,
)

/**
 * The job of the project that has waited longest for its turn, except those that a worker has locked. Index:
 * contact_jobs_unfinished.
 */
export const takeJob = statement<{ projectId: string }, { id: string }>(
  'take-contact-job',
  `update contact_jobs set state = 'active', advanced_at = clock_timestamp()
   where project_id = :projectId::uuid and id = (
     select id from contact_jobs where project_id = :projectId::uuid and state in ('waiting', 'active')
     order by advanced_at nulls first, id limit 1 for update skip locked)
   returning id`,
)

/** A chunk of a job took too long: the next one is smaller. */
export const slowJob = statement<{ projectId: string; id: string }, { tries: number }>(
  'slow-contact-job',
  `update contact_jobs set step_size = greatest(1, step_size / 8), slow_tries = slow_tries + 1
   where project_id = :projectId::uuid and id = :id::uuid and state = 'active' returning slow_tries as tries`,
)

/** Projects with imports or bulk changes that have not ended. Index: contact_jobs_unfinished. */
export const projectsWithJobs = statement<None, { projectId: string }>(
  'projects-with-contact-jobs',
  `select distinct project_id as "projectId" from contact_jobs where state in ('waiting', 'active')`,
)

/** Ends a job; its input, which is personal, is not needed any more. */
export const endJob = statement<
  { projectId: string; id: string; state: JobState; failedReason: string | null; now: Date },
  { id: string }
>(
  'end-contact-job',
  `update contact_jobs set state = :state::job_state, failed_reason = :failedReason,
     completed_at = :now::timestamptz,
     progress = case when :state::job_state = 'completed' then 100 else progress end,
     file = null, survey = null, request = '{}'
   where project_id = :projectId::uuid and id = :id::uuid and state in ('waiting', 'active') returning id`,
)
