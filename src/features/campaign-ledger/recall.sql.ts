import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'
import type { RecipientStatus } from '../../generated/prisma/enums.ts'
import { requeueCtes } from '../../messages/deliveries.sql.ts'
import { tallyCte } from '../../messages/ledger.sql.ts'

/**
 * What is taken out of the queue again, and what becomes of it: `status` in the ledger, `emailStatus` of the message. The keys
 * are handed on, as in the statements that queue recipients.
 */
const recall = (status: 'PENDING' | 'CANCELLED', emailStatus: string | null) => `
   recalled as (
     delete from deliveries d using (
       select project_id, email_id from deliveries
       where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and taken_by is null
         and due_at < 'infinity'
       limit :limit::int for update skip locked) few
     where d.project_id = few.project_id and d.email_id = few.email_id
     returning d.project_id, d.email_id
   ),
   stopped as (
     ${
       emailStatus === null
         ? `select e.project_id, e.id, e.campaign_id, e.contact_id
     from emails e join recalled on e.project_id = recalled.project_id and e.id = recalled.email_id`
         : `update emails e set updated_at = :now::timestamptz,
       status = case when e.status = 'PENDING' then '${emailStatus}' else e.status end
     from recalled
     where e.project_id = recalled.project_id and e.id = recalled.email_id
     returning e.project_id, e.id, e.campaign_id, e.contact_id`
     }
   ),
   moved as (
     update campaign_recipients r set status = '${status}' from stopped
     where r.project_id = stopped.project_id and r.campaign_id = stopped.campaign_id
       and r.contact_id = stopped.contact_id and r.status = 'SENDING'
     returning r.project_id, r.campaign_id, r.variant, 'SENDING'::recipient_status as was, r.status
   )`

type Recalling = { projectId: string; campaignId: string; limit: number }

/** Takes messages of a campaign that is paused out of the queue; they keep their place in the ledger. Index: deliveries_campaign. */
export const holdDeliveries = statement<Recalling, { count: number }>(
  'hold-campaign-deliveries',
  `with ${recall('PENDING', null)}, ${tallyCte('select * from moved')}
   select count(*)::int as count from recalled`,
)

/**
 * Takes messages of a campaign that is cancelled out of the queue for good, and then recipients that have no message.
 * Messages that are being handed over at this moment end by themselves.
 */
export const cancelRecipients = statement<Recalling & { now: Date }, { count: number }>(
  'cancel-campaign-recipients',
  `with ${recall('CANCELLED', 'CANCELLED')},
   waiting as (
     update campaign_recipients r set status = 'CANCELLED' from (
       select project_id, campaign_id, contact_id from campaign_recipients
       where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
       order by contact_id limit :limit::int for update) few
     where r.project_id = few.project_id and r.campaign_id = few.campaign_id and r.contact_id = few.contact_id
     returning r.project_id, r.campaign_id, r.variant, 'PENDING'::recipient_status as was, r.status, r.email_id
   ),
   held as (
     update emails e set status = 'CANCELLED', updated_at = :now::timestamptz from waiting
     where e.project_id = waiting.project_id and e.id = waiting.email_id and e.status = 'PENDING'
   ),
   ${tallyCte('select * from moved union all select project_id, campaign_id, variant, was, status from waiting')}
   select ((select count(*) from recalled) + (select count(*) from waiting))::int as count`,
)

/**
 * Puts recipients for whom the message was given up back into the queue, with all attempts before them, and to the
 * addresses that they have at present.
 */
export const retryRecipients = statement<
  Recalling & { now: Date; clockShift: number; after: string },
  { contactId: string; queued: boolean }
>(
  'retry-campaign-recipients',
  `with failed as (
     select project_id, contact_id, email_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'FAILED'
       and contact_id > :after::uuid
     order by contact_id limit :limit::int for update
   ),
   ${requeueCtes('select project_id, email_id from failed')},
   ${tallyCte('select * from ledger')}
   select contact_id as "contactId", exists (select from queued q where q.email_id = failed.email_id) as queued
   from failed order by contact_id`,
)

/** Removes some of the ledger of a campaign that is deleted. */
export const removeRecipients = statement<Recalling, { count: number }>(
  'remove-campaign-recipients',
  `with few as (
     select project_id, campaign_id, contact_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid limit :limit::int
   ),
   gone as (
     delete from campaign_recipients r using few
     where r.project_id = few.project_id and r.campaign_id = few.campaign_id and r.contact_id = few.contact_id
     returning r.contact_id
   )
   select count(*)::int as count from gone`,
)

/** Milliseconds until the next message of a campaign is due that waits in the delivery queue. Index: deliveries_campaign. */
export const nextDelivery = statement<
  { projectId: string; campaignId: string; clockShift: number },
  { afterMs: number | null }
>(
  'next-campaign-delivery',
  `select (1000 * extract(epoch from min(due_at) - ${DATABASE_NOW}))::float8 as "afterMs" from deliveries
   where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and due_at < 'infinity'`,
)

/** The row of a contact in the ledger of a campaign. `dueAt` is null without a time, or when it depends on the winner. Key: the primary one. */
export const recipientOf = statement<
  { projectId: string; campaignId: string; contactId: string },
  {
    status: RecipientStatus
    emailId: string | null
    variant: number | null
    dueAt: Date | null
    waitsForWinner: boolean
  }
>(
  'campaign-recipient-of',
  `select status, email_id as "emailId", variant, case when due_at < 'infinity' then due_at end as "dueAt",
     status = 'PENDING' and coalesce(due_at = 'infinity', false) as "waitsForWinner"
   from campaign_recipients
   where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and contact_id = :contactId::uuid`,
)

/**
 * When a queued message is tried next, and whether its project has sent as much in this second as it may; no row when it is
 * not queued. `defaultRate` is the limit of projects that have none of their own. Keys: the primary ones.
 */
export const queueOf = statement<
  { projectId: string; emailId: string; defaultRate: number; clockShift: number },
  { nextAttemptAt: Date | null; isThrottled: boolean }
>(
  'campaign-queue-of',
  `select case when d.due_at < 'infinity' then d.due_at end as "nextAttemptAt",
     d.due_at < 'infinity' and rate.limit_of > 0
       and coalesce(w.window_start = date_trunc('second', ${DATABASE_NOW}) and w.used >= rate.limit_of, false)
       as "isThrottled"
   from deliveries d join projects p on p.id = d.project_id
   cross join lateral (select coalesce(p.send_rate_per_second, :defaultRate::int) as limit_of) rate
   left join limit_windows w on w.project_id = d.project_id and w.kind = 'SENDS'
   where d.project_id = :projectId::uuid and d.email_id = :emailId::uuid`,
)
