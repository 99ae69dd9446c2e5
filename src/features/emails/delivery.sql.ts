import { type Statement, statement } from '../../db/sql.ts'
import type { DomainStatus, MessageType } from '../../generated/prisma/enums.ts'

export type ProjectWithDueMail = { projectId: string; sendRatePerSecond: number | null; due: number }

/**
 * Projects that have mail to deliver now, and how much, counted up to $2. A loose scan: one probe of
 * emails_due per project, however much mail waits. Disabled projects keep their mail. $1 now.
 */
export const projectsWithDueMail: Statement<ProjectWithDueMail> = statement(
  'projects-with-due-mail',
  `with recursive waiting as (
     (select project_id from emails where status = 'PENDING' order by project_id limit 1)
     union all
     select (select e.project_id from emails e
             where e.status = 'PENDING' and e.project_id > waiting.project_id
             order by e.project_id limit 1)
     from waiting where waiting.project_id is not null
   )
   select p.id as "projectId", p.send_rate_per_second as "sendRatePerSecond",
     (select count(*)::int from (select from emails e where e.project_id = p.id and e.status = 'PENDING'
        and e.due_at <= $1::timestamptz limit $2::int) as counted) as due
   from waiting join projects p on p.id = waiting.project_id
   where not p.disabled and exists (
     select from emails e where e.project_id = p.id and e.status = 'PENDING' and e.due_at <= $1::timestamptz)`,
)

export type ClaimedEmail = {
  projectId: string
  id: string
  toEmail: string
  toName: string | null
  from: string
  fromName: string | null
  replyTo: string | null
  subject: string
  type: MessageType
  messageId: string
  attempts: number
  dueAt: Date
  /** Until when the message belongs to the claim; the worker moves it with each renewal. */
  leaseUntil: Date
  createdAt: Date
  contactId: string
  subscribed: boolean
  templateId: string | null
  campaignId: string | null
  sourceType: string
  attachmentSetId: string | null
  html: string | null
  headers: { name: string; value: string }[] | null
  dkimSelector: string | null
  dkimPrivateKey: Buffer | null
  dkimDomain: string | null
  /** Of the sender's domain; null when the project no longer has it. */
  domainStatus: DomainStatus | null
}

/**
 * Takes up to $3 due messages of project $1 for the claim $4 until $5, oldest first, and reads all that is
 * needed to hand them over. Messages that another worker is taking are left to it. $2 now. Index: emails_due.
 */
export const claimDueMail: Statement<ClaimedEmail> = statement(
  'claim-due-mail',
  `with due as (
     select id from emails
     where project_id = $1::uuid and status = 'PENDING' and due_at <= $2::timestamptz
     order by due_at, id limit $3::int
     for update skip locked
   ),
   claimed as (
     update emails e set status = 'SENDING', claim_id = $4::uuid, lease_until = $5::timestamptz,
       attempts = attempts + 1, updated_at = $2::timestamptz
     from due where e.project_id = $1::uuid and e.id = due.id
     returning e.*
   )
   select e.project_id as "projectId", e.id, e.to_email as "toEmail", e.to_name as "toName", e."from",
     e.from_name as "fromName", e.reply_to as "replyTo", e.subject, e.type, e.message_id as "messageId",
     e.attempts, e.due_at as "dueAt", e.lease_until as "leaseUntil", e.created_at as "createdAt",
     e.contact_id as "contactId", c.subscribed, e.template_id as "templateId", e.campaign_id as "campaignId", e.source_type as "sourceType",
     e.attachment_set_id as "attachmentSetId", content.html, content.headers,
     d.dkim_selector as "dkimSelector", d.dkim_private_key as "dkimPrivateKey", d.domain as "dkimDomain",
     d.status as "domainStatus"
   from claimed e
   join contacts c on c.project_id = e.project_id and c.id = e.contact_id
   left join email_contents content on content.project_id = e.project_id and content.email_id = e.id
   left join domains d on d.project_id = e.project_id and d.domain = substring(e."from" from '[^@]*$')`,
)

export const attachmentsOfSet: Statement<{
  filename: string
  contentType: string
  disposition: 'attachment' | 'inline'
  contentId: string | null
  content: Buffer
}> = statement(
  'attachments-of-set',
  `select filename, content_type as "contentType", disposition, content_id as "contentId", content
   from email_attachments where project_id = $1::uuid and set_id = $2::uuid order by position`,
)

/**
 * The worker is alive: what it holds stays its own until $2. $1 claim; arrays: $3 project, $4 id. It names the
 * messages because a claim whose answer was lost on the way is in the table but with no worker: that one must run
 * out. Returns what is still the worker's. Key: emails_pkey.
 */
export const renewLeases: Statement<{ id: string }> = statement(
  'renew-leases',
  `update emails e set lease_until = $2::timestamptz
   from unnest($3::uuid[], $4::uuid[]) as held (project_id, id)
   where e.project_id = held.project_id and e.id = held.id and e.status = 'SENDING' and e.claim_id = $1::uuid
   returning e.id`,
)

/**
 * Gives back mail whose worker has died while handing it over. It is due at once; receivers may get it twice,
 * with the same Message-ID. $1 now. Index: emails_sending.
 */
export const takeOverExpired: Statement<{ projectId: string; id: string }> = statement(
  'take-over-expired-claims',
  `update emails set status = 'PENDING', claim_id = null, lease_until = null, due_at = $1::timestamptz,
     updated_at = $1::timestamptz, error = 'The worker ended while handing this message over; it may arrive twice.'
   where status = 'SENDING' and lease_until < $1::timestamptz
   returning project_id as "projectId", id`,
)

export type OutcomeStatus = 'SENT' | 'PENDING' | 'FAILED' | 'SUPPRESSED'

/**
 * Settles finished hand-overs and records their events, in one commit. $1 claim, $2 now; arrays: $3 project,
 * $4 id, $5 status, $6 provider's message id, $7 error, $8 due at, $9 event id, $10 event name (null: none),
 * $11 event data, $12 what to take off `attempts`. A status that a notification of the provider has already
 * raised is kept. Mail that another worker has taken over since is left to it.
 */
export const settleDeliveries: Statement<{ id: string }> = statement(
  'settle-deliveries',
  `with outcome as (
     select * from unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::uuid[],
       $10::text[], $11::jsonb[], $12::int[])
       as o (project_id, id, status, provider_message_id, error, due_at, event_id, event_name, event_data, untried)
   ),
   settled as (
     update emails e set
       status = o.status::email_status,
       provider_message_id = coalesce(o.provider_message_id, e.provider_message_id),
       error = case when o.untried = 1 then e.error else o.error end, due_at = o.due_at, claim_id = null, lease_until = null,
       attempts = e.attempts - o.untried,
       sent_at = case when o.status = 'SENT' then $2::timestamptz else e.sent_at end,
       updated_at = $2::timestamptz
     from outcome o
     where e.project_id = o.project_id and e.id = o.id and e.status = 'SENDING' and e.claim_id = $1::uuid
     returning e.project_id, e.id, e.contact_id, o.event_id, o.event_name, o.event_data
   ),
   recorded as (
     insert into events (project_id, id, contact_id, name, email_id, data, created_at)
     select project_id, event_id, contact_id, event_name, id, event_data, $2::timestamptz
     from settled where event_name is not null
   ),
   followed as (
     insert into contact_changes (project_id, id, contact_id)
     select s.project_id, s.event_id, s.contact_id from settled s
     where s.event_name is not null and exists (
       select from segments where project_id = s.project_id and track_membership and type = 'DYNAMIC')
   )
   select id from settled`,
)
