import { eventCtes, heard, NEW_ID, subscriptionCtes } from '../../changes/changes.sql.ts'
import { statement } from '../../db/sql.ts'
import type { Consumer, EmailStatus } from '../../generated/prisma/enums.ts'
import { raisedStatus } from '../../messages/email-status.sql.ts'
import { tallyCte } from '../../messages/ledger.sql.ts'
import { lifecycleData } from '../../messages/lifecycle-data.sql.ts'

/** The arrays have an element a message, or an event. */
type Applying = {
  projectId: string
  now: Date
  mailIds: string[]
  /** Null leaves the status as it is. */
  statuses: (EmailStatus | null)[]
  deliveredAt: (Date | null)[]
  bouncedAt: (Date | null)[]
  softBouncedAt: (Date | null)[]
  complainedAt: (Date | null)[]
  rejectedAt: (Date | null)[]
  /** Whether the message had failed until now. */
  wereGivenUp: boolean[]
  errors: (string | null)[]
  /** 1 of the first one of a message. */
  delivered: number[]
  bounced: number[]
  complained: number[]
  eventIds: string[]
  eventMailIds: string[]
  eventNames: string[]
  eventData: string[]
  eventTimes: Date[]
}

/**
 * Writes down what became of messages, which are locked, and records the events. A message that has arrived, or never will,
 * is not tried again: it leaves the delivery queue, and the ledger of its campaign has it as sent. So it is with one that was
 * given up and has left the queue before. One that the provider refuses after all is not tried again either, and has failed.
 */
export const applyOutcomes = statement<Applying, { heard: Consumer[] }>(
  'apply-mail-reports',
  `with told as materialized (
     select :projectId::uuid as project_id, n.* from unnest(:mailIds::uuid[], :statuses::email_status[], :deliveredAt::timestamptz[], :bouncedAt::timestamptz[],
       :softBouncedAt::timestamptz[], :complainedAt::timestamptz[], :rejectedAt::timestamptz[], :wereGivenUp::boolean[],
       :errors::text[], :delivered::int[], :bounced::int[], :complained::int[])
       as n (id, status, delivered_at, bounced_at, soft_bounced_at, complained_at, rejected_at, was_given_up, error, delivered,
         bounced, complained)
   ),
   mail as (
     update emails e set
       status = case when n.status is not null then ${raisedStatus('e.status', 'n.status')}
         when n.rejected_at is not null and e.status in ('PENDING', 'SENT') then 'FAILED' else e.status end,
       delivered_at = least(e.delivered_at, n.delivered_at), bounced_at = least(e.bounced_at, n.bounced_at),
       soft_bounced_at = least(e.soft_bounced_at, n.soft_bounced_at),
       complained_at = least(e.complained_at, n.complained_at), rejected_at = least(e.rejected_at, n.rejected_at),
       error = coalesce(n.error, e.error), updated_at = :now::timestamptz
     from told n where e.project_id = n.project_id and e.id = n.id
     returning e.project_id, e.id, e.contact_id, e.campaign_id, e.variant, e.source_type, n.delivered, n.bounced,
       n.complained, n.status is not null as has_left,
       n.rejected_at is not null and e.status = 'FAILED' as was_refused, n.was_given_up, ${lifecycleData('e')} as data
   ),
   waiting as (
     delete from deliveries d using mail
     where d.project_id = mail.project_id and d.email_id = mail.id and d.taken_by is null
       and (mail.has_left or mail.was_refused and d.due_at < 'infinity')
     returning d.project_id, d.email_id
   ),
   ended as (
     select mail.*, waiting.email_id is not null as has_waited from mail left join waiting on waiting.email_id = mail.id
     where waiting.email_id is not null or mail.has_left and mail.was_given_up
   ),
   ledger as (
     update campaign_recipients r set status = case when ended.has_left then 'SENT' else 'FAILED' end::recipient_status
     from ended join campaign_recipients was on was.project_id = ended.project_id
       and was.campaign_id = ended.campaign_id and was.contact_id = ended.contact_id
     where r.project_id = was.project_id and r.campaign_id = was.campaign_id and r.contact_id = was.contact_id
       and r.email_id = ended.id and (r.status = 'FAILED' and ended.has_left or r.status = 'SENDING' and ended.has_waited)
     returning r.project_id, r.campaign_id, r.variant, was.status as was, r.status
   ),
   ${tallyCte('select * from ledger')},
   campaign as (
     insert into campaign_tallies (project_id, campaign_id, id, variant, delivered, bounced, complained)
     select project_id, campaign_id, ${NEW_ID}, variant, sum(delivered), sum(bounced), sum(complained)
     from mail where source_type = 'CAMPAIGN' and campaign_id is not null and delivered + bounced + complained > 0
     group by project_id, campaign_id, variant
   ),
   happened as (
     select * from unnest(:eventIds::uuid[], :eventMailIds::uuid[], :eventNames::text[], :eventData::jsonb[],
       :eventTimes::timestamptz[]) as h (id, mail_id, name, data, at)
   ),
   ${eventCtes(`select mail.project_id, h.id, mail.contact_id, h.name, mail.id, mail.data || h.data, h.at
     from happened h join mail on mail.id = h.mail_id`)}
   select ${heard('heard_event')} as heard`,
)

/**
 * Contacts of messages are not written to any more: they are unsubscribed, by what `sources` says, with their events. The arrays
 * have an element a message; of several with one contact the first one counts. Key: emails_pkey.
 */
export const unsubscribeReported = statement<
  { projectId: string; now: Date; mailIds: string[]; eventIds: string[]; sources: string[] },
  { heard: Consumer[] }
>(
  'unsubscribe-reported-contacts',
  `with asked as materialized (
     select :projectId::uuid as project_id, a.* from unnest(:mailIds::uuid[], :eventIds::uuid[], :sources::text[]) with ordinality
       as a (email_id, event_id, source, place)
   ),
   told as (
     select distinct on (e.contact_id) e.project_id, e.contact_id, e.id as email_id, asked.event_id, asked.source
     from asked join emails e on e.project_id = asked.project_id and e.id = asked.email_id
     order by e.contact_id, asked.place
   ),
   changed as (
     update contacts c set subscribed = false, subscription_event_id = told.event_id, updated_at = :now::timestamptz
     from told where c.project_id = told.project_id and c.id = told.contact_id and c.subscribed
     returning c.project_id, c.id, told.event_id, c.subscribed, told.source, told.email_id
   ),
   ${subscriptionCtes('source', { emailId: 'email_id' })}
   select ${heard('heard_event')} as heard`,
)

/**
 * Contacts whose last messages of which something is known, `most` of them, were all turned away for reasons that may pass,
 * over at least `days`: a message that arrived begins the count anew. Index: emails_project_id_contact_id_id_idx.
 */
export const contactsOfSoftBounces = statement<
  { projectId: string; mailIds: string[]; most: number; days: number },
  { mailId: string }
>(
  'contacts-of-soft-bounces',
  `with asked as materialized (
     select :projectId::uuid as project_id, id from unnest(:mailIds::uuid[]) as a (id)
   )
   select (array_agg(mail.id order by mail.id desc))[1] as "mailId"
   from asked join emails mail on mail.project_id = asked.project_id and mail.id = asked.id, lateral (
     select count(*) filter (where last.delivered_at is null and last.soft_bounced_at is not null) as count,
       min(last.soft_bounced_at) as since, max(last.soft_bounced_at) as until
     from (
       select e.delivered_at, e.soft_bounced_at from emails e
       where e.project_id = mail.project_id and e.contact_id = mail.contact_id and e.to_email = mail.to_email
         and (e.delivered_at is not null or e.soft_bounced_at is not null)
       order by e.id desc limit :most::int
     ) last
   ) streak
   where streak.count = :most::int and streak.until - streak.since >= :days::int * interval '1 day'
   group by mail.contact_id`,
)
