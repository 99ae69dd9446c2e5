import { contactCtes, eventCtes, heard } from '../../changes/changes.sql.ts'
import { shortStatement, statement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { billedCte, billedOrFree } from '../../messages/billing-tallies.sql.ts'
import { upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

/** The projects that receive the mail of verified domains. Key: domains_domain_key. */
export const receivingProjects = shortStatement<
  { domains: string[]; keepsMail: boolean },
  { domain: string; projectId: string }
>(
  'receiving-projects',
  `select d.domain, d.project_id as "projectId" from domains d join projects p on p.id = d.project_id and not p.disabled
   where d.domain = any(:domains::text[]) and d.status = 'VERIFIED' and (not d.mailbox_only or :keepsMail)`,
)

export type InboundParams = {
  projectId: string
  /** Of the message and its recipient, however often it is handed over. */
  key: string
  now: Date
  newContactId: string
  emailId: string
  eventId: string
  sender: string
  senderName: string | null
  recipient: string
  recipientName: string | null
  replyTo: string | null
  subject: string
  messageId: string
  html: string
  text: string
  /** JSON lists. */
  headers: string
  files: string
  /** Messages of the project that it may answer, the nearest first. */
  answers: string[]
  /** JSON; null for a message that no person wrote, which nobody hears of. */
  eventData: string | null
}

const storeInboundOf = (name: string, billed: boolean) =>
  statement<InboundParams, { isNew: boolean; heard: Consumer[] }>(
    name,
    `with first as (
     insert into idempotency_keys (project_id, key, holder, request, created_at, with_secret_key, status_code)
     select id, :key, :emailId::uuid, 'inbound mail', :now::timestamptz, true, 200
     from projects where id = :projectId::uuid and not disabled
     on conflict (project_id, key) do nothing
     returning project_id
   ),
   person as (select project_id, :newContactId::uuid as id, :sender::text as email from first),
   ${upsertContactCtes({ subscribed: 'null', defaultSubscribed: 'false', set: `'{}'`, unset: `'{}'` })},
   ${contactCtes({ set: `'{}'`, unset: `'{}'`, source: `'inbound'` })},
   answered as (
     select e.id from first join emails e on e.project_id = first.project_id and e.id = any(:answers::uuid[])
     order by array_position(:answers::uuid[], e.id) limit 1
   ),
   email as (
     insert into emails (project_id, id, contact_id, to_email, to_name, "from", from_name, reply_to, subject, type,
       source_type, status, message_id, answers_id, created_at, updated_at)
     select project_id, :emailId::uuid, id, :recipient, :recipientName, :sender, :senderName, :replyTo, :subject,
       'TRANSACTIONAL', 'INBOUND', 'RECEIVED', :messageId, (select id from answered), :now::timestamptz, :now::timestamptz
     from contact
   ),
   content as (
     insert into email_contents (project_id, email_id, html, text, headers, files)
     select project_id, :emailId::uuid, :html, :text, :headers::jsonb, :files::jsonb from contact
   ),
   ${eventCtes(`select project_id, :eventId::uuid, id, 'email.received', :emailId::uuid,
       :eventData::jsonb || jsonb_build_object('answersEmailId', (select id from answered)), :now::timestamptz
     from contact where :eventData::jsonb is not null`)}
   ${billed ? `, ${billedCte('INBOUND', 'first')}` : ''}
   select case when exists (select from first) and not exists (select from contact)
       then abort_statement('the sender was created by a concurrent request')
       else exists (select from first) end as "isNew",
     ${heard('heard_contact', 'heard_event')} as heard`,
  )

/**
 * Stores a message that came in, with its sender as a contact, once for each recipient. Nobody is subscribed by it. Keys:
 * idempotency_keys_pkey, contacts_project_id_email_key, emails_pkey.
 */
export const storeInbound = billedOrFree((billed) =>
  storeInboundOf(`store-inbound${billed ? '-billed' : ''}`, billed),
)
