import type { PredicateParams } from '../../audience/compile.sql.ts'
import { NEW_ID } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { COUNTED, SUMS, tallyCte } from '../../messages/ledger.sql.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'
import type { Priority } from '../../queue/define-work.ts'

/** Projects with campaigns that have something to do, or with tallies to fold. Index: campaigns_next. */
export const projectsWithCampaignWork = statement<
  { clockShift: number; limit: number },
  { projectId: string }
>(
  'projects-with-campaign-work',
  `with recursive tallied as (
     (select project_id from campaign_tallies order by project_id limit 1)
     union all
     select (select t.project_id from campaign_tallies t where t.project_id > tallied.project_id
       order by t.project_id limit 1)
     from tallied where tallied.project_id is not null
   )
   (select distinct project_id as "projectId" from campaigns where next_at <= ${DATABASE_NOW} limit :limit::int)
   union
   (select project_id from tallied where project_id is not null limit :limit::int)`,
)

/**
 * Locks the campaign of the project that has waited longest for something to be done; the next slice takes another one
 * first. `afterMs` is when there is something to do at the earliest, negative when it is due; no row: nothing is left.
 */
export const nextCampaign = statement<
  { projectId: string; clockShift: number },
  { id: string; afterMs: number }
>(
  'next-campaign',
  `select id, (1000 * extract(epoch from next_at - ${DATABASE_NOW}))::float8 as "afterMs" from campaigns
   where project_id = :projectId::uuid and next_at is not null
   order by next_at, id limit 1 for update skip locked`,
)

const RECEIVES = mayReceiveSql({
  type: ':type::message_type',
  subscribed: 'c.subscribed',
  suppressed: '(s.email is not null)',
})

/** What a contact `c`, with its suppression `s`, becomes in the ledger. */
const standing = (receives: string) => `(case when ${RECEIVES} then '${receives}'
  when s.email is not null then 'SUPPRESSED' else 'SKIPPED' end)::recipient_status`

type Freezing = {
  projectId: string
  campaignId: string
  type: MessageType
  after: string
  until: string
}

/**
 * Writes the contacts of a condition, after one id and up to another, into the ledger of a campaign. Those who may not
 * get it are in it as well. Key: contacts_pkey.
 */
export const freezeRange = (condition: { text: string }) =>
  unpreparedStatement<Freezing & PredicateParams, { count: number }>(
    `with frozen as (
       insert into campaign_recipients (project_id, campaign_id, contact_id, status)
       select c.project_id, :campaignId::uuid, c.id, ${standing('PENDING')}
       from contacts c left join suppressions s on s.project_id = c.project_id and s.email = c.email
       where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid and ${condition.text}
       on conflict do nothing
       returning project_id, campaign_id, status
     ),
     ${tallyCte('select *, null::recipient_status as was from frozen')}
     select count(*)::int as count from frozen`,
  )

/**
 * Puts the next recipients of a campaign that are PENDING into the delivery queue: their messages and deliveries are
 * written with the ledger, in one commit. Contacts that are gone, or may not get it any more, are left out. A message
 * that was there before the campaign was paused is used again. Index: campaign_recipients_project_id_campaign_id_status_…
 */
export const releaseRecipients = statement<
  {
    projectId: string
    campaignId: string
    type: MessageType
    limit: number
    size: number
    priority: Priority
    subject: string
    from: string
    fromName: string | null
    replyTo: string | null
    now: Date
    clockShift: number
  },
  { released: number; left: number }
>(
  'release-recipients',
  `with next as materialized (
     select contact_id, email_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
     order by contact_id limit :limit::int for update
   ),
   judged as materialized (
     select n.contact_id, n.email_id is null as is_new, coalesce(n.email_id, ${NEW_ID}) as email_id, c.email,
       case when c.id is null then 'SKIPPED'::recipient_status else ${standing('SENDING')} end as status
     from next n
     left join contacts c on c.project_id = :projectId::uuid and c.id = n.contact_id and ${isKept('c')}
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
   ),
   moved as (
     update campaign_recipients r set status = j.status,
       email_id = case when j.status = 'SENDING' then j.email_id else r.email_id end
     from judged j
     where r.project_id = :projectId::uuid and r.campaign_id = :campaignId::uuid and r.contact_id = j.contact_id
     returning r.project_id, r.campaign_id, 'PENDING'::recipient_status as was, r.status
   ),
   email as (
     insert into emails (project_id, id, contact_id, to_email, "from", from_name, reply_to, subject, type,
       source_type, status, campaign_id, message_id, created_at, updated_at)
     select :projectId::uuid, email_id, contact_id, email, :from, :fromName, :replyTo, :subject,
       :type::message_type, 'CAMPAIGN', 'PENDING', :campaignId::uuid,
       '<' || email_id || '@' || substring(:from::text from '[^@]*$') || '>', :now::timestamptz, :now::timestamptz
     from judged where status = 'SENDING' and is_new
   ),
   delivery as (
     insert into deliveries (project_id, email_id, campaign_id, priority, size, due_at)
     select :projectId::uuid, email_id, :campaignId::uuid, :priority::int, :size::int, ${DATABASE_NOW}
     from judged where status = 'SENDING'
   ),
   ${tallyCte('select * from moved')}
   select (count(*) filter (where status = 'SENDING'))::int as released,
     (count(*) filter (where status <> 'SENDING'))::int as left from judged`,
)

/** What is taken out of the queue again, and what becomes of it: `status` in the ledger, `emailStatus` of the message. */
const recall = (status: 'PENDING' | 'CANCELLED', emailStatus: string | null) => `
   recalled as (
     delete from deliveries d using (
       select email_id from deliveries
       where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and taken_by is null
         and due_at < 'infinity'
       limit :limit::int for update skip locked) few
     where d.project_id = :projectId::uuid and d.email_id = few.email_id
     returning d.email_id
   ),
   stopped as (
     ${
       emailStatus === null
         ? `select e.id, e.contact_id from emails e join recalled on recalled.email_id = e.id
     where e.project_id = :projectId::uuid`
         : `update emails e set status = '${emailStatus}', updated_at = :now::timestamptz from recalled
     where e.project_id = :projectId::uuid and e.id = recalled.email_id
     returning e.id, e.contact_id`
     }
   ),
   moved as (
     update campaign_recipients r set status = '${status}' from stopped
     where r.project_id = :projectId::uuid and r.campaign_id = :campaignId::uuid
       and r.contact_id = stopped.contact_id and r.status = 'SENDING'
     returning r.project_id, r.campaign_id, 'SENDING'::recipient_status as was, r.status
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
       select contact_id from campaign_recipients
       where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
       order by contact_id limit :limit::int for update) few
     where r.project_id = :projectId::uuid and r.campaign_id = :campaignId::uuid and r.contact_id = few.contact_id
     returning r.project_id, r.campaign_id, 'PENDING'::recipient_status as was, r.status, r.email_id
   ),
   held as (
     update emails e set status = 'CANCELLED', updated_at = :now::timestamptz from waiting
     where e.project_id = :projectId::uuid and e.id = waiting.email_id and e.status = 'PENDING'
   ),
   ${tallyCte('select * from moved union all select project_id, campaign_id, was, status from waiting')}
   select ((select count(*) from recalled) + (select count(*) from waiting))::int as count`,
)

/** Puts recipients for whom the message was given up back into the queue, with all attempts before them. */
export const retryRecipients = statement<
  Recalling & { now: Date; clockShift: number; after: string },
  { contactId: string }
>(
  'retry-campaign-recipients',
  `with failed as (
     select contact_id, email_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'FAILED'
       and contact_id > :after::uuid
     order by contact_id limit :limit::int for update
   ),
   queued as (
     update deliveries d set due_at = ${DATABASE_NOW}, attempts = 0 from failed
     where d.project_id = :projectId::uuid and d.email_id = failed.email_id and d.due_at = 'infinity'
     returning d.email_id
   ),
   email as (
     update emails e set status = 'PENDING', attempts = 0, error = null, updated_at = :now::timestamptz from queued
     where e.project_id = :projectId::uuid and e.id = queued.email_id
   ),
   moved as (
     update campaign_recipients r set status = 'SENDING' from failed join queued using (email_id)
     where r.project_id = :projectId::uuid and r.campaign_id = :campaignId::uuid and r.contact_id = failed.contact_id
     returning r.project_id, r.campaign_id, 'FAILED'::recipient_status as was, r.status
   ),
   ${tallyCte('select * from moved')}
   select contact_id as "contactId" from failed order by contact_id`,
)

/** Removes some of the ledger of a campaign that is deleted. */
export const removeRecipients = statement<Recalling, { count: number }>(
  'remove-campaign-recipients',
  `with few as (
     select contact_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid limit :limit::int
   ),
   gone as (
     delete from campaign_recipients r using few
     where r.project_id = :projectId::uuid and r.campaign_id = :campaignId::uuid and r.contact_id = few.contact_id
     returning r.contact_id
   )
   select count(*)::int as count from gone`,
)

/** Campaigns of the project that have something in their tallies, some of them. */
export const talliedCampaigns = statement<{ projectId: string; limit: number }, { id: string }>(
  'tallied-campaigns',
  `with recursive tallied as (
     (select campaign_id from campaign_tallies where project_id = :projectId::uuid order by campaign_id limit 1)
     union all
     select (select t.campaign_id from campaign_tallies t where t.project_id = :projectId::uuid
       and t.campaign_id > tallied.campaign_id order by t.campaign_id limit 1)
     from tallied where tallied.campaign_id is not null
   )
   select campaign_id as id from tallied where campaign_id is not null limit :limit::int`,
)

/** Folds the tallies of a campaign, which is locked, into its counters; those of one that is gone disappear. */
export const foldTallies = statement<{ projectId: string; id: string; limit: number }, { folded: number }>(
  'fold-campaign-tallies',
  `with few as (
     select id from campaign_tallies where project_id = :projectId::uuid and campaign_id = :id::uuid
     limit :limit::int
   ),
   gone as (
     delete from campaign_tallies t using few
     where t.project_id = :projectId::uuid and t.campaign_id = :id::uuid and t.id = few.id
     returning t.*
   ),
   summed as (select ${SUMS}, count(*)::int as folded from gone),
   counted as (
     update campaigns c set ${COUNTED.map((name) => `${name}_count = c.${name}_count + summed.${name}`).join(', ')}
     from summed where c.project_id = :projectId::uuid and c.id = :id::uuid and summed.folded > 0
   )
   select folded from summed`,
)

/** Has a campaign be worked on after some milliseconds; null: no more. */
export const workAfter = statement<{
  projectId: string
  id: string
  afterMs: number | null
  clockShift: number
}>(
  'work-on-campaign-after',
  `update campaigns set next_at = ${DATABASE_NOW} + :afterMs::float8 * interval '1 millisecond'
   where project_id = :projectId::uuid and id = :id::uuid`,
)

/** Locks a campaign until the commit, also one that is deleted. */
export const holdCampaign = statement<{ projectId: string; id: string }, { id: string }>(
  'hold-campaign',
  'select id from campaigns where project_id = :projectId::uuid and id = :id::uuid for update',
)
