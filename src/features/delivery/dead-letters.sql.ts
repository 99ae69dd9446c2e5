import { databaseNow } from '../../db/database-clock.ts'
import { type Statement, statement } from '../../db/sql.ts'

/**
 * For who runs the service: over all projects, or over the one given. Mail that was given up stays in `deliveries`, never
 * due, until it is put back or its content goes at the end of its retention.
 */

export type MailCounts = { pending: number; active: number; failed: number; oldestSeconds: number | null }

/** $1 project or null for all, $2 shift of the clock. The table holds what waits only. */
export const mailCounts: Statement<MailCounts> = statement(
  'mail-counts',
  `select count(*) filter (where taken_by is null and due_at < 'infinity')::int as pending,
     count(*) filter (where taken_by is not null)::int as active,
     count(*) filter (where due_at = 'infinity')::int as failed,
     extract(epoch from ${databaseNow('$2')} - min(due_at) filter (where taken_by is null
       and due_at <= ${databaseNow('$2')}))::int as "oldestSeconds"
   from deliveries where $1::uuid is null or project_id = $1::uuid`,
)

export type DeadMail = {
  projectId: string
  id: string
  to: string
  error: string | null
  attempts: number
  failedAt: Date
}

/** $1 project or null for all, $2 how many at most. What fails is not touched again, so it failed at updated_at. */
export const latestDeadMail: Statement<DeadMail> = statement(
  'latest-dead-mail',
  `select e.project_id as "projectId", e.id, e.to_email as "to", e.error, e.attempts, e.updated_at as "failedAt"
   from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
   where d.due_at = 'infinity' and ($1::uuid is null or d.project_id = $1::uuid)
   order by e.updated_at desc, e.id desc limit $2::int`,
)

export type ConsideredMail = { projectId: string; id: string; redriven: boolean }

/**
 * Puts failed mail back into the queue as if it had just come, when its content still exists. Looks at $6 messages
 * after the one with project $4 and id $5, so that what fails again meanwhile is not met twice. $1 now, $2 project or
 * null for all, $3 ids or null for all, $7 shift of the clock. Key: deliveries_pkey.
 */
export const putBack: Statement<ConsideredMail> = statement(
  'put-back-dead-mail',
  `with dead as (
     select d.project_id, d.email_id,
       exists (select from email_contents c where c.project_id = d.project_id and c.email_id = d.email_id) as complete
     from deliveries d
     where d.due_at = 'infinity' and ($2::uuid is null or d.project_id = $2::uuid)
       and ($3::uuid[] is null or d.email_id = any($3::uuid[]))
       and (d.project_id, d.email_id) > ($4::uuid, $5::uuid)
     order by d.project_id, d.email_id limit $6::int
     for update
   ),
   queued as (
     update deliveries d set due_at = ${databaseNow('$7')}, attempts = 0
     from dead where d.project_id = dead.project_id and d.email_id = dead.email_id and dead.complete
   ),
   redriven as (
     update emails e set status = 'PENDING', attempts = 0, error = null, updated_at = $1::timestamptz
     from dead where e.project_id = dead.project_id and e.id = dead.email_id and dead.complete
   )
   select project_id as "projectId", email_id as id, complete as redriven from dead order by project_id, email_id`,
)
