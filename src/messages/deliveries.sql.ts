import { DATABASE_NOW } from '../db/database-clock.ts'

/*
 * The one place that puts messages into the delivery queue: parts of the statements that accept them, or try them again.
 */

/** Queues the messages of a select (project_id, email_id, campaign_id, priority, size): they are due at once. */
export const insertDeliveries = (messages: string): string => `
  insert into deliveries (project_id, email_id, campaign_id, priority, size, due_at)
  select m.project_id, m.email_id, m.campaign_id, m.priority, m.size, ${DATABASE_NOW} from (${messages}) m`

/**
 * The CTEs `queued`, `again` and `ledger`: those of a select (project_id, email_id) that were given up are tried again, with
 * all attempts before them, and are SENDING in the ledgers of their campaigns; those of campaigns go to the address that
 * the contact has at present.
 */
export const requeueCtes = (dead: string): string => `
  queued as (
    update deliveries d set due_at = ${DATABASE_NOW}, attempts = 0 from (${dead}) dead
    where d.project_id = dead.project_id and d.email_id = dead.email_id and d.due_at = 'infinity'
    returning d.project_id, d.email_id
  ),
  again as (
    update emails e set status = 'PENDING', attempts = 0, error = null, updated_at = :now::timestamptz,
      to_email = case when e.source_type = 'CAMPAIGN' then c.email else e.to_email end
    from queued, contacts c
    where e.project_id = queued.project_id and e.id = queued.email_id and c.project_id = e.project_id
      and c.id = e.contact_id
    returning e.project_id, e.id, e.campaign_id, e.contact_id
  ),
  ledger as (
    update campaign_recipients r set status = 'SENDING' from again e
    where r.project_id = e.project_id and r.campaign_id = e.campaign_id and r.contact_id = e.contact_id
      and r.email_id = e.id and r.status = 'FAILED'
    returning r.project_id, r.campaign_id, r.variant, 'FAILED'::recipient_status as was, r.status
  )`
