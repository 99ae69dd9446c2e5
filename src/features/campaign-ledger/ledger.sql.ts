import type { PredicateParams } from '../../audience/compile.sql.ts'
import { NEW_ID } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { billedCte, billedOrFree } from '../../messages/billing-tallies.sql.ts'
import { insertDeliveries } from '../../messages/deliveries.sql.ts'
import { addToCounters, SUMS, tallyCte } from '../../messages/ledger.sql.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'
import type { Priority } from '../../queue/priorities.ts'

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

/**
 * How the recipients of a campaign take turns: all as they come; those of its A/B test first and the others when the winner
 * is known; or each when it is a certain time in its time zone.
 */
export type Turns = 'plain' | 'test' | 'zones'

/** A number from 0 to 999,999 that depends on the campaign and the contact `c` only. */
const BUCKET = `('x' || encode(substring(sha256(convert_to(:campaignId::uuid::text || c.id::text, 'UTF8')) for 4), 'hex'))
  ::bit(32)::bigint % 1000000`

/** The relation `turn` (variant, due_at) beside the contact `c`, and the parameter that it needs. */
const TURNS: Record<Turns, string> = {
  plain: 'cross join (values (null::int, null::timestamptz)) as turn (variant, due_at)',
  test: `cross join lateral (
     select variant, case when variant is null then 'infinity' else :startedAt::timestamptz end as due_at from (
       select nullif(width_bucket(${BUCKET}, :limits::bigint[]), cardinality(:limits::bigint[])) + 1 as variant) chosen
   ) turn`,
  zones: `left join zone on zone.name = lower(btrim(c.data ->> 'timezone'))
   cross join lateral (select null::int as variant,
     coalesce(zone.due_at, (select due_at from zone where name = '')) as due_at) turn`,
}

/** What the wall time of a campaign is in each time zone; the one without a name stands for all others. */
const ZONES = `zone as materialized (
     select key as name, value::timestamptz as due_at from campaigns z, jsonb_each_text(z.zone_times)
     where z.project_id = :projectId::uuid and z.id = :campaignId::uuid
   ),`

type Freezing = {
  projectId: string
  campaignId: string
  type: MessageType
  after: string
  until: string
}

/** Of a campaign with an A/B test: up to which number each of the variants gets a contact. */
type Testing = { limits: number[]; startedAt: Date }

/**
 * Writes the contacts of a condition, after one id and up to another, into the ledger of a campaign. Those who may not
 * get it are in it as well. Key: contacts_pkey.
 */
export const freezeRange = (condition: { text: string }, turns: Turns) =>
  unpreparedStatement<Freezing & Partial<Testing> & PredicateParams, { count: number }>(
    `with ${turns === 'zones' ? ZONES : ''}
     frozen as (
       insert into campaign_recipients (project_id, campaign_id, contact_id, status, variant, due_at)
       select c.project_id, :campaignId::uuid, c.id, ${standing('PENDING')}, turn.variant, turn.due_at
       from contacts c left join suppressions s on s.project_id = c.project_id and s.email = c.email
       ${TURNS[turns]}
       where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid and ${condition.text}
       on conflict do nothing
       returning project_id, campaign_id, variant, status
     ),
     ${tallyCte('select *, null::recipient_status as was from frozen')}
     select count(*)::int as count from frozen`,
  )

type Releasing = {
  projectId: string
  campaignId: string
  type: MessageType
  limit: number
  priority: Priority
  now: Date
  clockShift: number
}

/** What a campaign says in each of its variants, and how long it is. */
const CONTENT = `content as materialized (
     select v.number as variant, coalesce(v.subject, c.subject) as subject,
       octet_length(coalesce(v.body, c.body)) as size, c."from", c.from_name, c.reply_to
     from campaigns c left join campaign_variants v on v.project_id = c.project_id and v.campaign_id = c.id
     where c.project_id = :projectId::uuid and c.id = :campaignId::uuid
   )`

/** Of the campaign that is being released: the winner of its A/B test. */
const WINNER = '(select winner from campaigns where project_id = :projectId::uuid and id = :campaignId::uuid)'

/** `next` says which recipients that are PENDING come next. */
const release = (next: string, billed: boolean): string => `
   with ${CONTENT},
   next as materialized (
     select project_id, campaign_id, contact_id, email_id, variant as was_variant, coalesce(variant, ${WINNER}) as variant
     from campaign_recipients
     where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
       ${next} limit :limit::int for update
   ),
   judged as materialized (
     select n.project_id, n.campaign_id, n.contact_id, n.was_variant, n.variant, n.email_id is null as is_new,
       coalesce(n.email_id, ${NEW_ID}) as email_id, c.email,
       case when c.id is null then 'SKIPPED'::recipient_status else ${standing('SENDING')} end as status
     from next n
     left join contacts c on c.project_id = n.project_id and c.id = n.contact_id and ${isKept('c')}
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
   ),
   moved as (
     update campaign_recipients r set status = j.status, variant = j.variant,
       email_id = case when j.status = 'SENDING' then j.email_id else r.email_id end
     from judged j
     where r.project_id = j.project_id and r.campaign_id = j.campaign_id and r.contact_id = j.contact_id
     returning r.project_id, r.campaign_id, j.was_variant, r.variant, 'PENDING'::recipient_status as was, r.status
   ),
   sent as materialized (
     select j.*, content.subject, content.size, content."from", content.from_name, content.reply_to
     from judged j join content on content.variant is not distinct from j.variant where j.status = 'SENDING'
   ),
   email as (
     insert into emails (project_id, id, contact_id, to_email, "from", from_name, reply_to, subject, type,
       source_type, status, campaign_id, variant, message_id, created_at, updated_at)
     select :projectId::uuid, email_id, contact_id, email, "from", from_name, reply_to, subject,
       :type::message_type, 'CAMPAIGN', 'PENDING', :campaignId::uuid, variant,
       '<' || email_id || '@' || substring("from" from '[^@]*$') || '>', :now::timestamptz, :now::timestamptz
     from sent where is_new
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
       :priority::int as priority, size from sent`)}
   ),
   ${tallyCte(`select project_id, campaign_id, variant, was, status from moved
       where variant is not distinct from was_variant
     union all select project_id, campaign_id, was_variant, was, null from moved where variant is distinct from was_variant
     union all select project_id, campaign_id, variant, null, status from moved where variant is distinct from was_variant`)}
   ${billed ? `, ${billedCte('CAMPAIGNS', "(select project_id from judged where status = 'SENDING' and is_new)")}` : ''}
   select count(*)::int as taken, (count(*) filter (where status = 'SENDING'))::int as released,
     (count(*) filter (where status = 'SENDING' and is_new))::int as made from judged`

type Released = { taken: number; released: number; made: number }

const either = (name: string, next: string) =>
  billedOrFree((billed) =>
    statement<Releasing, Released>(`${name}${billed ? '-billed' : ''}`, release(next, billed)),
  )

/**
 * Puts the next recipients of a campaign that are PENDING into the delivery queue: their messages and deliveries are
 * written with the ledger, in one commit. Contacts that are gone, or may not get it any more, are left out. A message
 * that was there before the campaign was paused is used again, and is not billed again. Index:
 * campaign_recipients_project_id_campaign_id_status_…
 */
export const releaseRecipients = either('release-recipients', 'order by contact_id')

/**
 * The same for a campaign whose recipients wait for their turns, with those whose turn has come. Once the A/B test has a
 * winner it is everybody's turn. Index: campaign_recipients_due.
 */
export const releaseDue = either(
  'release-due-recipients',
  `and due_at is not null
       and due_at <= case when ${WINNER} is null then ${DATABASE_NOW} else 'infinity' end order by due_at, contact_id`,
)

/** Milliseconds until the next turn of a recipient that waits for it; null: none does. Index: campaign_recipients_due. */
export const nextTurn = statement<
  { projectId: string; campaignId: string; clockShift: number },
  { afterMs: number | null }
>(
  'next-campaign-turn',
  `select (1000 * extract(epoch from min(due_at) - ${DATABASE_NOW}))::float8 as "afterMs" from campaign_recipients
   where project_id = :projectId::uuid and campaign_id = :campaignId::uuid and status = 'PENDING'
     and due_at < 'infinity'`,
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
   apart as (select variant, ${SUMS}, count(*)::int as folded from gone group by variant),
   summed as (select ${SUMS}, coalesce(sum(folded), 0)::int as folded from apart),
   counted as (
     update campaigns c set ${addToCounters('c')}
     from summed where c.project_id = :projectId::uuid and c.id = :id::uuid and summed.folded > 0
   ),
   counted_apart as (
     update campaign_variants v set ${addToCounters('v')}
     from apart summed where v.project_id = :projectId::uuid and v.campaign_id = :id::uuid and v.number = summed.variant
   )
   select folded from summed`,
)

/** The next step of a campaign looks at an eighth of the contacts, of so many at least. */
export const shrinkSteps = statement<{ projectId: string; id: string; least: number }>(
  'shrink-campaign-steps',
  `update campaigns set step_size = greatest(:least::int, step_size / 8)
   where project_id = :projectId::uuid and id = :id::uuid`,
)
