import { type Statement, statement } from '../../db/sql.ts'

/**
 * For who runs the service: over all projects, or over the one given. Every statement goes from `projects` to
 * the mail of each, so that project_id leads.
 */

export type MailCounts = { pending: number; sending: number; failed: number }

const mailWith = (status: string) =>
  `(select count(*)::int from projects p join emails e on e.project_id = p.id
    where e.status = '${status}' and ($1::uuid is null or p.id = $1::uuid))`

/** $1 project or null for all. Indexes: emails_due, emails_sending. */
export const mailCounts: Statement<MailCounts> = statement(
  'mail-counts',
  `select ${mailWith('PENDING')} as pending, ${mailWith('SENDING')} as sending, ${mailWith('FAILED')} as failed`,
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
   from projects p join emails e on e.project_id = p.id
   where e.status = 'FAILED' and ($1::uuid is null or p.id = $1::uuid)
   order by e.updated_at desc, e.id desc limit $2::int`,
)

export type ConsideredMail = { projectId: string; id: string; redriven: boolean }

/**
 * Puts failed mail back into the delivery queue as if it had just come, when its content still exists. Looks at
 * $6 messages after the one with project $4 and id $5, so that what fails again meanwhile is not met twice.
 * $1 now, $2 project or null for all, $3 ids or null for all. Index: emails_pkey.
 */
export const putBack: Statement<ConsideredMail> = statement(
  'put-back-dead-mail',
  `with dead as (
     select e.project_id, e.id,
       exists (select from email_contents c where c.project_id = e.project_id and c.email_id = e.id) as complete
     from projects p join emails e on e.project_id = p.id
     where e.status = 'FAILED' and ($2::uuid is null or p.id = $2::uuid)
       and ($3::uuid[] is null or e.id = any($3::uuid[]))
       and (e.project_id, e.id) > ($4::uuid, $5::uuid)
     order by e.project_id, e.id limit $6::int
     for update of e
   ),
   redriven as (
     update emails e set status = 'PENDING', due_at = $1::timestamptz, attempts = 0, error = null,
       updated_at = $1::timestamptz
     from dead where e.project_id = dead.project_id and e.id = dead.id and dead.complete
   )
   select project_id as "projectId", id, complete as redriven from dead order by project_id, id`,
)
