import type { PredicateParams } from '../../audience/compile.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { analyticStatement, statement } from '../../db/sql.ts'
import type { AudienceType, MessageType } from '../../generated/prisma/enums.ts'
import type { CampaignCounts } from '../../messages/campaign-counts.rules.ts'
import { insertDeliveries } from '../../messages/deliveries.sql.ts'
import { countersOf, SUMS } from '../../messages/ledger.sql.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'
import type { Priority } from '../../queue/priorities.ts'

/** The counters of campaigns, as they are at this moment. Keys: the primary ones. */
export const campaignCounts = statement<
  { projectId: string; ids: string[] },
  CampaignCounts & { id: string }
>(
  'campaign-counts',
  `select c.id, ${countersOf('c')}
   from campaigns c
   left join lateral (
     select ${SUMS} from campaign_tallies where project_id = c.project_id and campaign_id = c.id) t on true
   where c.project_id = :projectId::uuid and c.id = any(:ids::uuid[])`,
)

/** Locks a campaign until the commit. */
export const lockCampaign = statement<{ projectId: string; id: string }, { deleted: boolean }>(
  'lock-campaign',
  'select deleted from campaigns where project_id = :projectId::uuid and id = :id::uuid for update',
)

/** Has a campaign be worked on at a time, or after some milliseconds, by the database's clock; both null: no more. */
export const workAt = statement<{
  projectId: string
  id: string
  at: Date | null
  afterMs: number | null
  clockShift: number
}>(
  'work-on-campaign-at',
  `update campaigns
   set next_at = coalesce(:at::timestamptz, ${DATABASE_NOW} + :afterMs::float8 * interval '1 millisecond')
   where project_id = :projectId::uuid and id = :id::uuid`,
)

/** How large campaigns are, in the order of their ids: their text, and something for the rest. */
export const campaignSizes = statement<{ projectId: string; ids: string[] }, { id: string; bytes: number }>(
  'campaign-sizes',
  `select id, octet_length(body) + octet_length(subject) + 1000 as bytes from campaigns
   where project_id = :projectId::uuid and id = any(:ids::uuid[]) order by array_position(:ids::uuid[], id)`,
)

const RECEIVES = mayReceiveSql({
  type: ':type::message_type',
  subscribed: 'c.subscribed',
  suppressed: `exists (select from suppressions s where s.project_id = c.project_id and s.email = c.email)`,
})

/** Whether anybody of an audience would get mail of a type. */
export const anybodyReceives = (condition: { text: string }) =>
  analyticStatement<{ projectId: string; type: MessageType } & PredicateParams, { anybody: boolean }>(
    `select exists (select from contacts c
       where c.project_id = :projectId::uuid and ${RECEIVES} and ${condition.text}) as anybody`,
  )

/** Whether an address belongs to a member of the project. */
export const isMember = statement<{ projectId: string; email: string }, { member: boolean }>(
  'is-member',
  `select exists (select from members m join users u on u.id = m.user_id
     where m.project_id = :projectId::uuid and u.email = :email) as member`,
)

/**
 * Stores a test of a campaign for delivery. Whoever asks for one gets it, subscribed or not, so it is stored as
 * transactional mail. A message belongs to a contact, so a member of the project who is none becomes a hidden one: no
 * request and no audience finds it, and it is removed with its message a day later. Returns nothing when the contact has been
 * deleted meanwhile.
 */
export const storeTest = statement<
  {
    projectId: string
    contactId: string
    /** Of a member who is no contact; null for contacts. */
    erasureId: string | null
    emailId: string
    to: string
    from: string
    fromName: string | null
    replyTo: string | null
    subject: string
    html: string
    headers: string
    messageId: string
    priority: Priority
    now: Date
    clockShift: number
  },
  { id: string }
>(
  'store-campaign-test',
  `with hidden as (
     insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select :projectId::uuid, :contactId::uuid, '${ERASED}' || :contactId::uuid, false, :now::timestamptz, :now::timestamptz
     where :erasureId::uuid is not null
     returning id
   ),
   erasure as (
     insert into contact_erasures (project_id, id, contact_id, attachment_sets, due_at)
     select :projectId::uuid, :erasureId::uuid, id, '{}', ${DATABASE_NOW} + interval '1 day' from hidden
   ),
   known as materialized (
     select id from contacts where project_id = :projectId::uuid and id = :contactId::uuid for key share
   ),
   reader as (select id from hidden union all select id from known),
   email as (
     insert into emails (project_id, id, contact_id, to_email, "from", from_name, reply_to, subject, type, source_type,
       status, message_id, created_at, updated_at)
     select :projectId::uuid, :emailId::uuid, id, :to, :from, :fromName, :replyTo, :subject,
       'TRANSACTIONAL', 'TEST', 'PENDING', :messageId, :now::timestamptz, :now::timestamptz from reader
   ),
   content as (
     insert into email_contents (project_id, email_id, html, headers)
     select :projectId::uuid, :emailId::uuid, :html, :headers::jsonb from reader
   )
   ${insertDeliveries(`select :projectId::uuid as project_id, :emailId::uuid as email_id, null::uuid as campaign_id,
     :priority::int as priority, octet_length(:html::text) as size from reader`)}
   returning email_id as id`,
)

/** Gives a new campaign the A/B test of another one. */
export const copyVariants = statement<{ projectId: string; id: string; copied: string }>(
  'copy-campaign-variants',
  `with copied as (
     insert into campaign_variants (project_id, campaign_id, number, subject, body, weight)
     select project_id, :id::uuid, number, subject, body, weight from campaign_variants
     where project_id = :projectId::uuid and campaign_id = :copied::uuid
   )
   update campaigns c
   set test_percent = o.test_percent, test_metric = o.test_metric, test_minutes = o.test_minutes
   from campaigns o
   where o.project_id = :projectId::uuid and o.id = :copied::uuid
     and c.project_id = :projectId::uuid and c.id = :id::uuid`,
)

/** Replaces what a campaign says and whom it is for; the condition is JSON. */
export const replaceCampaign = statement<{
  projectId: string
  id: string
  name: string
  description: string | null
  subject: string
  body: string
  from: string
  fromName: string | null
  replyTo: string | null
  type: MessageType
  audienceType: AudienceType
  segmentId: string | null
  condition: string | null
  now: Date
}>(
  'replace-campaign',
  `update campaigns set name = :name, description = :description, subject = :subject, body = :body, "from" = :from,
     from_name = :fromName, reply_to = :replyTo, type = :type::message_type,
     audience_type = :audienceType::audience_type, segment_id = :segmentId::uuid,
     audience_condition = :condition::jsonb, updated_at = :now::timestamptz
   where project_id = :projectId::uuid and id = :id::uuid`,
)
