import { statement } from '../../db/sql.ts'

/** Each removes at most `limit` rows. They run in a job, outside of requests, over all projects. */

/** Index: idempotency_keys_created_at_idx. */
export const purgeIdempotencyKeys = statement<{ before: Date; limit: number }, { id: string }>(
  'purge-idempotency-keys',
  `delete from idempotency_keys k using (
     select project_id, key from idempotency_keys where created_at < :before::timestamptz limit :limit::int
   ) old
   where k.project_id = old.project_id and k.key = old.key and k.created_at < :before::timestamptz
     returning k.key as id`,
)

/** Notifications of Stripe, which repeats one for three days. Index: billing_events_received_at_idx. */
export const purgeBillingEvents = statement<{ before: Date; limit: number }, { id: string }>(
  'purge-billing-events',
  `delete from billing_events e using (
     select id from billing_events where received_at < :before::timestamptz limit :limit::int
   ) old
   where e.id = old.id returning e.id`,
)

/** Bodies of mail that has reached a final state. Keys: the primary ones. */
export const purgeContents = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-email-contents',
  `delete from email_contents c using (
     select c.email_id from email_contents c
     join emails e on e.project_id = c.project_id and e.id = c.email_id
     where c.project_id = :projectId::uuid and c.email_id < :firstKept::uuid and e.status <> 'PENDING'
     limit :limit::int
   ) old
   where c.project_id = :projectId::uuid and c.email_id = old.email_id returning c.email_id as id`,
)

/** Of messages of campaigns, the values that they were rendered with. Index: emails_variables. */
export const purgeVariables = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-email-variables',
  `update emails e set variables = null from (
     select id from emails
     where project_id = :projectId::uuid and id < :firstKept::uuid and variables is not null limit :limit::int
   ) old
   where e.project_id = :projectId::uuid and e.id = old.id returning e.id`,
)

/** Files that no waiting mail needs; `firstKept` is the id of a set. Index: emails_attachment_set. */
export const purgeAttachments = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-email-attachments',
  `delete from email_attachments a using (
     select a.set_id, a.position from email_attachments a
     where a.project_id = :projectId::uuid and a.set_id < :firstKept::uuid and not exists (
       select from emails e where e.project_id = a.project_id and e.attachment_set_id = a.set_id
         and e.status = 'PENDING')
     limit :limit::int
   ) old
   where a.project_id = :projectId::uuid and a.set_id = old.set_id and a.position = old.position
   returning a.set_id as id`,
)

/**
 * Imports and bulk changes that have ended; of more than `kept` the first id to keep is a later one. Key: the primary
 * one.
 */
export const purgeContactJobs = statement<
  { firstKept: string; limit: number; projectId: string; kept: number },
  { id: string }
>(
  'purge-contact-jobs',
  `delete from contact_jobs j using (
     select id from contact_jobs
     where project_id = :projectId::uuid and state in ('completed', 'failed')
       and id < greatest(:firstKept::uuid, (
         select id from contact_jobs where project_id = :projectId::uuid
         order by id desc offset :kept::int - 1 limit 1))
     limit :limit::int
   ) old
   where j.project_id = :projectId::uuid and j.id = old.id returning j.id`,
)

/** Dead letters whose content has gone. Key: deliveries_pkey. */
export const purgeDeadMail = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-dead-mail',
  `delete from deliveries d using (
     select email_id from deliveries
     where project_id = :projectId::uuid and email_id < :firstKept::uuid and due_at = 'infinity'
       limit :limit::int
   ) old
   where d.project_id = :projectId::uuid and d.email_id = old.email_id returning d.email_id as id`,
)

/** Calls of webhooks that have ended, with their tries. Key: webhook_messages_pkey. */
export const purgeWebhookCalls = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-webhook-calls',
  `delete from webhook_messages m using (
     select project_id, id from webhook_messages
     where project_id = :projectId::uuid and id < :firstKept::uuid and status <> 'PENDING' order by id limit :limit::int
   ) old
   where m.project_id = old.project_id and m.id = old.id returning m.id`,
)

/** Entries of the audit log. Key: audit_entries_pkey. */
export const purgeAuditEntries = statement<
  { firstKept: string; limit: number; projectId: string },
  { id: string }
>(
  'purge-audit-entries',
  `delete from audit_entries a using (
     select id from audit_entries where project_id = :projectId::uuid and id < :firstKept::uuid limit :limit::int
   ) old
   where a.project_id = :projectId::uuid and a.id = old.id returning a.id`,
)

/** Counts of events on days before that of `before` (UTC). Index: event_counts_project_id_day_idx. */
export const purgeEventCounts = statement<{ before: Date; limit: number; projectId: string }, { id: string }>(
  'purge-event-counts',
  `delete from event_counts c using (
     select name, day from event_counts
     where project_id = :projectId::uuid and day < (:before::timestamptz at time zone 'UTC')::date
       limit :limit::int
   ) old
   where c.project_id = :projectId::uuid and c.name = old.name and c.day = old.day returning c.name as id`,
)

/** Results of deletions of fields that ended before `before`. Key: the primary one. */
export const purgeFieldDeletions = statement<
  { before: Date; limit: number; projectId: string },
  { id: string }
>(
  'purge-field-deletions',
  `delete from contact_field_deletions d using (
     select name from contact_field_deletions
     where project_id = :projectId::uuid and completed_at < :before::timestamptz limit :limit::int
   ) old
   where d.project_id = :projectId::uuid and d.name = old.name and d.completed_at < :before::timestamptz
   returning d.name as id`,
)
