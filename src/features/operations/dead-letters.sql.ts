import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'
import { requeueCtes } from '../../messages/deliveries.sql.ts'
import { tallyCte } from '../../messages/ledger.sql.ts'

/**
 * For the operator: over all projects, or over the one given. Mail that was given up stays in `deliveries`,
 * never due, until it is put back or its content expires.
 */

export type MailCounts = { pending: number; active: number; failed: number; oldestSeconds: number | null }

/** Counts the mail of a project, or of all. The table holds only waiting mail. */
export const mailCounts = statement<{ projectId: string | null; clockShift: number }, MailCounts>(
  'mail-counts',
  `select count(*) filter (where taken_by is null and due_at < 'infinity')::int as pending,
     count(*) filter (where taken_by is not null)::int as active,
     count(*) filter (where due_at = 'infinity')::int as failed,
     extract(epoch from ${DATABASE_NOW} - min(due_at) filter (where taken_by is null
       and due_at <= ${DATABASE_NOW}))::int as "oldestSeconds"
   from deliveries where :projectId::uuid is null or project_id = :projectId::uuid`,
)

export type DeadMail = {
  projectId: string
  id: string
  to: string
  error: string | null
  attempts: number
  failedAt: Date
}

/**
 * The latest failed mail of a project, or of all. Failed mail is not changed again, so it failed at
 * updated_at.
 */
export const latestDeadMail = statement<{ projectId: string | null; limit: number }, DeadMail>(
  'latest-dead-mail',
  `select e.project_id as "projectId", e.id, e.to_email as "to", e.error, e.attempts, e.updated_at as "failedAt"
   from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
   where d.due_at = 'infinity' and (:projectId::uuid is null or d.project_id = :projectId::uuid)
   order by e.updated_at desc, e.id desc limit :limit::int`,
)

export type ConsideredMail = { projectId: string; id: string; redriven: boolean }

/**
 * Puts failed mail back into the queue as new, when its content or its campaign still exists: mail of a
 * project (null: of all) and with some ids (null: all). Looks at `limit` messages after the one that is named, so that mail
 * that fails again meanwhile is not met twice. Key: deliveries_pkey.
 */
export const putBack = statement<
  {
    now: Date
    projectId: string | null
    ids: string[] | null
    afterProject: string
    afterEmail: string
    limit: number
    clockShift: number
  },
  ConsideredMail
>(
  'put-back-dead-mail',
  `with dead as (
     select d.project_id, d.email_id, d.campaign_id,
       exists (select from email_contents c where c.project_id = d.project_id and c.email_id = d.email_id)
       or exists (select from campaigns c where c.project_id = d.project_id and c.id = d.campaign_id
         and c.status in ('SENDING', 'SENT') and not c.deleted) as complete
     from deliveries d
     where d.due_at = 'infinity' and (:projectId::uuid is null or d.project_id = :projectId::uuid)
       and (:ids::uuid[] is null or d.email_id = any(:ids::uuid[]))
       and (d.project_id, d.email_id) > (:afterProject::uuid, :afterEmail::uuid)
     order by d.project_id, d.email_id limit :limit::int
     for update
   ),
   ${requeueCtes('select project_id, email_id from dead where complete')},
   reopened as (
     update campaigns c set status = 'SENDING', paused = false, sent_at = null, next_at = ${DATABASE_NOW}
     from (select distinct project_id, campaign_id from ledger) l
     where c.project_id = l.project_id and c.id = l.campaign_id and c.status in ('SENDING', 'SENT')
       and not c.deleted
   ),
   ${tallyCte('select * from ledger')}
   select project_id as "projectId", email_id as id, complete as redriven from dead order by project_id, email_id`,
)
