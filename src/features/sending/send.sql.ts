import { isFurtherKey } from '../../admission/access.sql.ts'
import { type HeldKey, REMEMBER_ANSWER, RESERVATION_HOLDS } from '../../admission/idempotency.sql.ts'
import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { type Statement, shortStatement, statement } from '../../db/sql.ts'
import type { Consumer, MessageType, Tracking } from '../../generated/prisma/enums.ts'
import type { JsonObject } from '../../lib/json.ts'
import { billedCte } from '../../messages/billing-tallies.sql.ts'
import { insertDeliveries } from '../../messages/deliveries.sql.ts'
import { insertContactCte, upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

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
  /** The project's setting. */
  tracking: Tracking
}

export type SendContextParams = {
  projectId: string
  keyHash: Buffer | null
  templateId: string | null
  /** Domain of the request's sender; null when the template names the sender. */
  domain: string | null
  /** Whether mail stays in the mailbox. */
  keepsMail: boolean
}

/**
 * All that a send has to know beforehand, in one round trip.
 * Keys: projects_pkey, templates_pkey, domains_domain_key, contacts_project_id_email_key.
 */
const sendContextText = (addresses: string) => `
   with template as (
     select subject, body, "from", from_name as "fromName", reply_to as "replyTo", type
     from templates where project_id = :projectId::uuid and id = :templateId::uuid
   )
   select
     coalesce(p.secret_hash = :keyHash or ${isFurtherKey('p.id')}, true) and not p.disabled as admitted, p.tracking,
     (select to_json(template) from template) as template,
     exists (select from domains where project_id = :projectId::uuid and status = 'VERIFIED'
       and (not mailbox_only or :keepsMail)
       and domain = coalesce(:domain, (
         select substring("from" from '[^@]*$') from template))) as "domainVerified",
     (select coalesce(json_agg(json_build_object('id', id, 'email', email, 'subscribed', subscribed, 'data', data)), '[]')
      from contacts where project_id = :projectId::uuid and email ${addresses}) as contacts
   from projects p where p.id = :projectId::uuid`

/** For one recipient the planner's general plan is the best one, and is kept. */
export const sendContextOfOne = shortStatement<SendContextParams & { address: string }, SendContext>(
  'send-context',
  sendContextText('= :address'),
)

export const sendContextOfMany = statement<SendContextParams & { addresses: string[] }, SendContext>(
  'send-context-many',
  sendContextText('= any(:addresses::text[])'),
)

export type SendRow = { admitted: boolean; stored: boolean; heard: Consumer[] }

/** The change that the recipients' contacts need, as they were read. */
export type ContactNeed = 'insert' | 'merge' | 'nothing'

/** Which parts a send's statement has; each part that is not needed costs nothing. */
export type SendShape = {
  /** One recipient: plain parameters, for which the planner's general plan is the best one. */
  single: boolean
  contacts: ContactNeed
  /** The answer is stored for an Idempotency-Key. */
  once: boolean
  files: boolean
  /** The mail is counted for billing. */
  billed: boolean
}

/** The columns of `RecipientParams`. */
const RECIPIENT_COLUMNS = 'email, id, contact_id, email_id, to_name, subject, html, headers, message_id'

const RECIPIENT = `(values (:to::text, :newContactId::uuid, :contactId::uuid, :emailId::uuid, :toName::text,
  :subject::text, :html::text, :headers::json, :messageId::text)) as m (${RECIPIENT_COLUMNS})`

const RECIPIENTS = `unnest(:to::text[], :newContactId::uuid[], :contactId::uuid[], :emailId::uuid[], :toName::text[],
  :subject::text[], :html::text[], :headers::json[], :messageId::text[]) as m (${RECIPIENT_COLUMNS})`

const CONTACT = { subscribed: ':subscribed', defaultSubscribed: 'false', set: ':set', unset: ':unset' }

/**
 * The CTEs of the contacts, with `contact` (project_id, id, email). Existing contacts are locked until the
 * commit.
 */
const CONTACTS: Record<ContactNeed, string> = {
  insert: `${insertContactCte(CONTACT)},`,
  merge: `${upsertContactCtes(CONTACT)},`,
  nothing: `contact as (
    select c.project_id, c.id, c.email from message m
    join contacts c on c.project_id = m.project_id and c.email = m.email
    for key share of c
  ),`,
}

export type RecipientParams = {
  to: string
  /** Id for the contact, if it is new. */
  newContactId: string
  /** The contact that the mail was rendered for. */
  contactId: string
  emailId: string
  toName: string | null
  subject: string
  html: string
  /** A JSON list. */
  headers: string
  messageId: string
}

export type RecipientsParams = { [Column in keyof RecipientParams]: RecipientParams[Column][] }

export type SendParams = {
  projectId: string
  keyHash: Buffer | null
  now: Date
  subscribed: boolean | null
  /** JSON, and keys: what changes of the contacts' data. */
  set: string
  unset: string[]
  from: string
  fromName: string | null
  replyTo: string | null
  type: MessageType
  templateId: string | null
  /** The plain-text part, the same for all recipients; null when it is made from the HTML. */
  text: string | null
  attachmentSetId: string | null
  /** Of all files. */
  fileBytes: number
  clockShift: number
} & (RecipientParams | RecipientsParams) &
  Partial<OnceParams> &
  Partial<FileParams>

/** The answer as JSON, of a statement for `once`. */
export type OnceParams = HeldKey & { answer: string }

/** Of a statement for `files`. */
export type FileParams = {
  filenames: string[]
  contentTypes: string[]
  dispositions: string[]
  contentIds: (string | null)[]
  contents: Buffer[]
}

/**
 * The mail was rendered for contacts as they were read a moment before. A concurrent request may have created
 * one of them since, with another id than the links in the mail carry: then nothing may be stored, and
 * abort_statement ends the statement; the caller reads and renders again.
 */
const sendText = ({ single, contacts, once, files, billed }: SendShape) => `
  with project as (
    select id from projects where id = :projectId::uuid and coalesce(secret_hash = :keyHash or ${isFurtherKey('projects.id')}, true)
      and not disabled
      ${once ? `and ${RESERVATION_HOLDS}` : ''}
  ),
  message as (select project.id as project_id, m.* from project, ${single ? RECIPIENT : RECIPIENTS}),
  ${contacts === 'nothing' ? '' : 'person as (select project_id, id, email from message),'}
  ${CONTACTS[contacts]}
  ${contacts === 'nothing' ? '' : `${contactCtes({ set: ':set', unset: ':unset', source: "'send'" })},`}
  email as (
    insert into emails (project_id, id, contact_id, to_email, to_name, "from", from_name, reply_to, subject, type,
      source_type, status, template_id, message_id, attachment_set_id, created_at, updated_at)
    select m.project_id, m.email_id, contact.id, m.email, m.to_name, :from, :fromName, :replyTo, m.subject,
      :type::message_type, 'TRANSACTIONAL', 'PENDING', :templateId::uuid, m.message_id, :attachmentSetId::uuid,
      :now::timestamptz, :now::timestamptz
    from message m join contact using (project_id, email)
  ),
  content as (
    insert into email_contents (project_id, email_id, html, text, headers)
    select project_id, email_id, html, :text::text, headers::jsonb from message
  ),
  delivery as (
    ${insertDeliveries(
      'select project_id, email_id, null::uuid as campaign_id, 0 as priority, octet_length(html) + :fileBytes::int as size from message',
    )}
  )
  ${files ? `, ${ATTACHMENT_CTE}` : ''}
  ${billed ? `, ${billedCte('TRANSACTIONAL', 'message')}` : ''}
  ${once ? `, ${ANSWER_CTES}` : ''}
  select exists (select from project) as admitted, ${contacts === 'insert' ? 'true' : RENDERED_FOR_THESE} as stored,
    ${contacts === 'nothing' ? `'{}'::text[]` : heard('heard_contact')} as heard`

/** All are counted, since for the first one that is found the planner would compare each recipient with each contact. */
const RENDERED_FOR_THESE = `case when (select count(*) from message m left join contact c using (project_id, email)
                      where c.id is distinct from m.contact_id) > 0
      then abort_statement('a recipient was created by a concurrent request') else true end`

const ATTACHMENT_CTE = `
  attachment as (
    insert into email_attachments
      (project_id, set_id, position, filename, content_type, disposition, content_id, content)
    select project.id, :attachmentSetId::uuid, f.position, f.filename, f.content_type, f.disposition,
      f.content_id, f.content
    from project,
      unnest(:filenames::text[], :contentTypes::text[], :dispositions::text[], :contentIds::text[],
        :contents::bytea[])
      with ordinality as f (filename, content_type, disposition, content_id, content, position)
  )`

const ANSWER_CTES = `
  answer as (select :answer::text as response from project),
  remembered as (${REMEMBER_ANSWER})`

/** Characters of HTML up to which a message is stored in no time. */
const SHORT_HTML = 256 * 1024

const nameOf = ({ single, contacts, once, files, billed }: SendShape): string =>
  `store-send-${contacts}${single ? '' : '-many'}${once ? '-once' : ''}${files ? '-files' : ''}${billed ? '-billed' : ''}`

const EITHER = [true, false] as const

const SHAPES: SendShape[] = EITHER.flatMap((single) =>
  (['insert', 'merge', 'nothing'] as const).flatMap((contacts) =>
    EITHER.flatMap((once) =>
      EITHER.flatMap((files) => EITHER.map((billed) => ({ single, contacts, once, files, billed }))),
    ),
  ),
)

type Maker = typeof statement<SendParams, SendRow>

const statementsOf = (make: Maker): ReadonlyMap<string, Statement<SendParams, SendRow>> =>
  new Map(SHAPES.map((shape) => [nameOf(shape), make(nameOf(shape), sendText(shape))]))

const USUAL = statementsOf(statement)
const SHORT = statementsOf(shortStatement)

/**
 * Contacts, their subscription events, emails, contents and files in one statement, so in one commit. What takes
 * a while to store (many recipients, files, a large body) does not share a connection with others.
 */
export function storeSend(shape: SendShape, htmlLength: number): Statement<SendParams, SendRow> {
  const isShort = shape.single && !shape.files && htmlLength <= SHORT_HTML
  const found = (isShort ? SHORT : USUAL).get(nameOf(shape))
  if (!found) throw new Error(`There is no statement ${nameOf(shape)}`)
  return found
}
