import { type Statement, statement } from '../../db/sql.ts'

/** Each removes at most $2 rows from before $1. They run in a job, outside of requests, over all projects. */

/** Index: idempotency_keys_created_at_idx. */
export const purgeIdempotencyKeys: Statement<{ id: string }> = statement(
  'purge-idempotency-keys',
  `delete from idempotency_keys k using (
     select project_id, key from idempotency_keys where created_at < $1::timestamptz limit $2::int
   ) old
   where k.project_id = old.project_id and k.key = old.key and k.created_at < $1::timestamptz returning k.key as id`,
)

/** Bodies of mail of project $3 that has reached a final state; $1 is the first id to keep. Keys: the primary ones. */
export const purgeContents: Statement<{ id: string }> = statement(
  'purge-email-contents',
  `delete from email_contents c using (
     select c.email_id from email_contents c
     join emails e on e.project_id = c.project_id and e.id = c.email_id
     where c.project_id = $3::uuid and c.email_id < $1::uuid and e.status <> 'PENDING'
     limit $2::int
   ) old
   where c.project_id = $3::uuid and c.email_id = old.email_id returning c.email_id as id`,
)

/** Files of project $3 that no waiting mail needs; $1 is the first set id to keep. Index: emails_attachment_set. */
export const purgeAttachments: Statement<{ id: string }> = statement(
  'purge-email-attachments',
  `delete from email_attachments a using (
     select a.set_id, a.position from email_attachments a
     where a.project_id = $3::uuid and a.set_id < $1::uuid and not exists (
       select from emails e where e.project_id = a.project_id and e.attachment_set_id = a.set_id
         and e.status = 'PENDING')
     limit $2::int
   ) old
   where a.project_id = $3::uuid and a.set_id = old.set_id and a.position = old.position
   returning a.set_id as id`,
)

/**
 * Imports and bulk changes of project $3 that have ended; $1 is the first id to keep, of more than $4 a later one. Key:
 * the primary one.
 */
export const purgeContactJobs: Statement<{ id: string }> = statement(
  'purge-contact-jobs',
  `delete from contact_jobs j using (
     select id from contact_jobs
     where project_id = $3::uuid and state in ('completed', 'failed') and id < greatest($1::uuid, (
       select id from contact_jobs where project_id = $3::uuid order by id desc offset $4::int - 1 limit 1))
     limit $2::int
   ) old
   where j.project_id = $3::uuid and j.id = old.id returning j.id`,
)

/** Dead letters of project $3 whose content has gone; $1 is the first id to keep. Key: deliveries_pkey. */
export const purgeDeadMail: Statement<{ id: string }> = statement(
  'purge-dead-mail',
  `delete from deliveries d using (
     select email_id from deliveries
     where project_id = $3::uuid and email_id < $1::uuid and due_at = 'infinity' limit $2::int
   ) old
   where d.project_id = $3::uuid and d.email_id = old.email_id returning d.email_id as id`,
)

/** Counts of events of project $3 on days before $1 (UTC). Index: event_counts_project_id_day_idx. */
export const purgeEventCounts: Statement<{ id: string }> = statement(
  'purge-event-counts',
  `delete from event_counts c using (
     select name, day from event_counts
     where project_id = $3::uuid and day < ($1::timestamptz at time zone 'UTC')::date limit $2::int
   ) old
   where c.project_id = $3::uuid and c.name = old.name and c.day = old.day returning c.name as id`,
)

/** What came of deletions of fields of project $3 that ended before $1. Key: the primary one. */
export const purgeFieldDeletions: Statement<{ id: string }> = statement(
  'purge-field-deletions',
  `delete from contact_field_deletions d using (
     select name from contact_field_deletions
     where project_id = $3::uuid and completed_at < $1::timestamptz limit $2::int
   ) old
   where d.project_id = $3::uuid and d.name = old.name and d.completed_at < $1::timestamptz
   returning d.name as id`,
)
