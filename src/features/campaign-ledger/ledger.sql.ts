import type { PredicateParams } from '../../audience/compile.sql.ts'
import { NEW_ID } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { insertDeliveries } from '../../messages/deliveries.sql.ts'
import { COUNTED, SUMS, tallyCte } from '../../messages/ledger.sql.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'
import type { Priority } from '../../queue/define-work.ts'

/*
 * Every statement that works on rows which an earlier part of it found joins them by all columns of their key, never by
 * a parameter: the planner would else read all rows of a project, or of a campaign, for each row that was found while it has
 * no statistics of a table that has just grown.
 */

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
   (select distinct c.project_id as "projectId" from campaigns c join projects p on p.id = c.project_id
     and not p.disabled
   where c.next_at <= ${DATABASE_NOW} limit :limit::int)
   union
   (select project_id from tallied where project_id is not null limit :limit::int)`,
)

/**
 * Locks the campaign of the project that has waited longest for something to be done; the next slice takes another one
 * first. `afterMs` is when there is something to do at the earliest, negative when it is due; no row: nothing is left. Those
 * of a disabled project wait.
 */
export const nextCampaign = statement<
  { projectId: string; clockShift: number },
  { id: string; deleted: boolean; afterMs: number }
>(
  'next-campaign',
  `select id, deleted, (1000 * extract(epoch from next_at - ${DATABASE_NOW}))::float8 as "afterMs" from campaigns
   where project_id = :projectId::uuid and next_at is not null
     and exists (select from projects p where p.id = :projectId::uuid and not p.disabled)
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
    priority: Priority
    now: Date
    clockShift: number
  },
  { released: number }
>(
  'release-recipients',
  `with content as materialized (
     select subject, octet_length(body) as size, "from", from_name, reply_to from campaigns
     where project_id = :projectId::uuid and id = :campaignId::uuid
   ),
   next as materialized (
     select contact_id, email_id from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
     order by contact_id limit :limit::int for update
   ),
   judged as materialized (
     select n.project_id, n.campaign_id, n.contact_id, n.email_id is null as is_new,
       coalesce(n.email_id, ${NEW_ID}) as email_id, c.email,
       case when c.id is null then 'SKIPPED'::recipient_status else ${standing('SENDING')} end as status
     from next n
     left join contacts c on c.project_id = n.project_id and c.id = n.contact_id and ${isKept('c')}
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
   ),
   moved as (
     update campaign_recipients r set status = j.status,
       email_id = case when j.status = 'SENDING' then j.email_id else r.email_id end
     from judged j
     where r.project_id = j.project_id and r.campaign_id = j.campaign_id and r.contact_id = j.contact_id
     returning r.project_id, r.campaign_id, 'PENDING'::recipient_status as was, r.status
   ),
   email as (
     insert into emails (project_id, id, contact_id, to_email, "from", from_name, reply_to, subject, type,
       source_type, status, campaign_id, message_id, created_at, updated_at)
     select :projectId::uuid, email_id, contact_id, email, "from", from_name, reply_to, subject,
       :type::message_type, 'CAMPAIGN', 'PENDING', :campaignId::uuid,
       '<' || email_id || '@' || substring("from" from '[^@]*$') || '>', :now::timestamptz, :now::timestamptz
     from judged, content where status = 'SENDING' and is_new
   ),
   readdressed as (
     update emails e set to_email = j.email, updated_at = :now::timestamptz from judged j
     where e.project_id = j.project_id and e.id = j.email_id and not j.is_new and j.status = 'SENDING'
       and e.to_email <> j.email
   ),
   left_out as (
     update emails e set status = 'SUPPRESSED', updated_at = :now::timestamptz from judged j
     where e.project_id = j.project_id and e.id = j.email_id and not j.is_new and j.status <> 'SENDING'
       and e.status = 'PENDING'
   ),
   delivery as (
     ${insertDeliveries(`select :projectId::uuid as project_id, email_id, :campaignId::uuid as campaign_id,
       :priority::int as priority, content.size from judged, content where status = 'SENDING'`)}
   ),
   ${tallyCte('select * from moved')}
   select (count(*) filter (where status = 'SENDING'))::int as released from judged`,
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
     select project_id, campaign_id, id from campaign_tallies
     where project_id = :projectId::uuid and campaign_id = :id::uuid limit :limit::int
   ),
   gone as (
     delete from campaign_tallies t using few
     where t.project_id = few.project_id and t.campaign_id = few.campaign_id and t.id = few.id
     returning t.*
   ),
   summed as (select ${SUMS}, count(*)::int as folded from gone),
   counted as (
     update campaigns c set ${COUNTED.map((name) => `${name}_count = c.${name}_count + summed.${name}`).join(', ')}
     from summed where c.project_id = :projectId::uuid and c.id = :id::uuid and summed.folded > 0
   )
   select folded from summed`,
)

/** The next step of a campaign looks at an eighth of the contacts, of so many at least. */
export const shrinkSteps = statement<{ projectId: string; id: string; least: number }>(
  'shrink-campaign-steps',
  `update campaigns set step_size = greatest(:least::int, step_size / 8)
   where project_id = :projectId::uuid and id = :id::uuid`,
)
