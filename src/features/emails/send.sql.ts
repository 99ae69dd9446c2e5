import { type Statement, statement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { rememberAnswer, reservationHolds } from '../../idempotency.sql.ts'
import type { JsonObject } from '../../lib/json.ts'
import { subscriptionEventCte, upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

export type SendContext = {
  admitted: boolean
  template: {
    subject: string
    body: string
    from: string
    fromName: string | null
    replyTo: string | null
    type: MessageType
  } | null
  /** Whether the domain of the sender, the request's or the template's, is verified for the project. */
  domainVerified: boolean
  contacts: { id: string; email: string; subscribed: boolean; data: JsonObject }[]
}

/**
 * All that a send has to know beforehand, in one round trip. $1 project, $2 key hash, $3 template id or null,
 * $4 domain of the request's sender or null, $5 recipients' addresses.
 * Keys: projects_pkey, templates_pkey, domains_domain_key, contacts_project_id_email_key.
 */
export const sendContext: Statement<SendContext> = statement(
  'send-context',
  `with template as (
     select subject, body, "from", from_name as "fromName", reply_to as "replyTo", type
     from templates where project_id = $1::uuid and id = $3::uuid
   )
   select
     exists (select from projects where id = $1::uuid and secret_hash = $2 and not disabled) as admitted,
     (select to_json(template) from template) as template,
     exists (select from domains where project_id = $1::uuid and status = 'VERIFIED'
       and domain = coalesce($4, (select substring("from" from '[^@]*$') from template))) as "domainVerified",
     (select coalesce(json_agg(json_build_object('id', id, 'email', email, 'subscribed', subscribed, 'data', data)), '[]')
      from contacts where project_id = $1::uuid and email = any($5::text[])) as contacts`,
)

export type SendRow = { admitted: boolean; stored: boolean }

/**
 * $1 project, $2 key hash, $3 now, $4 subscribed, $5 data to set, $6 data to unset; per recipient the arrays
 * $7 address, $8 contact id if new, $9 contact id that was rendered for, $10 email id, $11 name, $12 subject,
 * $13 html, $14 headers, $15 Message-ID; for all of them $16 from, $17 from name, $18 reply-to, $19 type,
 * $20 template id, $21 attachment set; per file $22 name, $23 media type, $24 disposition, $25 content id,
 * $26 bytes.
 *
 * The mail was rendered for contacts as they were read a moment before. When a concurrent request has made
 * one of them since, its id, which links in the mail carry, is another: then nothing may be stored, and
 * abort_statement ends the statement; the caller reads and renders again.
 */
const sendText = (gate: string, remember: string) => `
  with project as (
    select id from projects where id = $1::uuid and secret_hash = $2 and not disabled ${gate}
  ),
  message as (
    select project.id as project_id, m.* from project,
      unnest($7::text[], $8::uuid[], $9::uuid[], $10::uuid[], $11::text[], $12::text[], $13::text[], $14::json[], $15::text[])
        as m (email, id, contact_id, email_id, to_name, subject, html, headers, message_id)
  ),
  person as (select project_id, id, email from message),
  ${upsertContactCtes({ subscribed: '$4', defaultSubscribed: 'false', set: '$5', unset: '$6', now: '$3' })},
  ${subscriptionEventCte("'send'", '$3')},
  email as (
    insert into emails (project_id, id, contact_id, to_email, to_name, "from", from_name, reply_to, subject, type,
      source_type, status, template_id, message_id, due_at, attachment_set_id, created_at, updated_at)
    select m.project_id, m.email_id, contact.id, m.email, m.to_name, $16, $17, $18, m.subject, $19::message_type,
      'TRANSACTIONAL', 'PENDING', $20::uuid, m.message_id, $3::timestamptz, $21::uuid, $3::timestamptz, $3::timestamptz
    from message m join contact using (project_id, email)
    returning project_id
  ),
  content as (
    insert into email_contents (project_id, email_id, html, headers, created_at)
    select m.project_id, m.email_id, m.html, m.headers::jsonb, $3::timestamptz
    from message m join contact using (project_id, email)
  ),
  attachment as (
    insert into email_attachments
      (project_id, set_id, position, filename, content_type, disposition, content_id, content, created_at)
    select project.id, $21::uuid, f.position, f.filename, f.content_type, f.disposition, f.content_id, f.content,
      $3::timestamptz
    from project, unnest($22::text[], $23::text[], $24::text[], $25::text[], $26::bytea[])
      with ordinality as f (filename, content_type, disposition, content_id, content, position)
  )
  ${remember}
  select exists (select from project) as admitted,
    case when exists (select from message m left join contact c using (project_id, email)
                      where c.id is distinct from m.contact_id)
      then abort_statement('a recipient was made by a concurrent request') else true end as stored`

/** Contacts, their subscription events, emails, contents and files in one statement, so in one commit. */
export const storeSend: Statement<SendRow> = statement('store-send', sendText('', ''))

/** The same, and the answer $30 is stored for the Idempotency-Key $27 with holder $28 and input hash $29. */
export const storeSendOnce: Statement<SendRow> = statement(
  'store-send-once',
  sendText(
    `and ${reservationHolds('$1::uuid', '$27', '$28::uuid')}`,
    `, answer as (select $30::text as response from project),
     remembered as (${rememberAnswer('$1::uuid', '$27', '$28::uuid', '$29')})`,
  ),
)
