import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { databaseNow } from '../../db/database-clock.ts'
import { type Statement, shortStatement, statement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { rememberAnswer, reservationHolds } from '../../idempotency.sql.ts'
import type { JsonObject } from '../../lib/json.ts'
import { upsertContactCtes } from '../contacts/upsert-contact.sql.ts'

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
 * $4 domain of the request's sender or null, $5 recipients' addresses, $6 whether mail stays in the mailbox.
 * Keys: projects_pkey, templates_pkey, domains_domain_key, contacts_project_id_email_key.
 */
const sendContextText = (addresses: string) => `
   with template as (
     select subject, body, "from", from_name as "fromName", reply_to as "replyTo", type
     from templates where project_id = $1::uuid and id = $3::uuid
   )
   select
     exists (select from projects where id = $1::uuid and secret_hash = $2 and not disabled) as admitted,
     (select to_json(template) from template) as template,
     exists (select from domains where project_id = $1::uuid and status = 'VERIFIED' and (not mailbox_only or $6)
       and domain = coalesce($4, (select substring("from" from '[^@]*$') from template))) as "domainVerified",
     (select coalesce(json_agg(json_build_object('id', id, 'email', email, 'subscribed', subscribed, 'data', data)), '[]')
      from contacts where project_id = $1::uuid and email ${addresses}) as contacts`

/** For one recipient, $5 is its address: the planner's general plan is the best one then, and is kept. */
export const sendContextOfOne: Statement<SendContext> = shortStatement(
  'send-context',
  sendContextText('= $5'),
)

/** For many, $5 is an array. */
export const sendContextOfMany: Statement<SendContext> = statement(
  'send-context-many',
  sendContextText('= any($5::text[])'),
)

export type SendRow = { admitted: boolean; stored: boolean; heard: boolean }

/** What has to be done about the recipients' contacts, as far as they were read: mostly little. */
export type ContactNeed = 'insert' | 'merge' | 'nothing'

/** Which parts a send's statement has; each part that is not needed costs nothing. */
export type SendShape = {
  /** One recipient: plain parameters, for which the planner's general plan is the best one. */
  single: boolean
  contacts: ContactNeed
  /** The answer is stored for an Idempotency-Key. */
  once: boolean
  files: boolean
}

/** Per recipient: email, id if new, id that was rendered for, email id, name, subject, html, headers, Message-ID. */
const RECIPIENT_TYPES = ['text', 'uuid', 'uuid', 'uuid', 'text', 'text', 'text', 'json', 'text']
const RECIPIENT_COLUMNS = 'email, id, contact_id, email_id, to_name, subject, html, headers, message_id'

/** Parameters $7 to $15: values for one recipient, arrays for many. */
const recipientsRelation = (single: boolean) => {
  const parameters = RECIPIENT_TYPES.map((type, index) => `$${index + 7}::${type}${single ? '' : '[]'}`)
  return single
    ? `(values (${parameters.join(', ')})) as m (${RECIPIENT_COLUMNS})`
    : `unnest(${parameters.join(', ')}) as m (${RECIPIENT_COLUMNS})`
}

const upserted = upsertContactCtes({
  subscribed: '$4',
  defaultSubscribed: 'false',
  set: '$5',
  unset: '$6',
  now: '$3',
})

/** A concurrent request that makes the same contact breaks its unique address; the caller reads again then. */
const inserted = `
  contact as (
    insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
    select project_id, id, email, coalesce($4::boolean, false), $5::jsonb, $3::timestamptz, $3::timestamptz from person
    returning *, 'created' as outcome, false as subscription_changed
  )`

/** The CTEs of the contacts, with `contact` (project_id, id, email). What is there already is held until the commit. */
const CONTACTS: Record<ContactNeed, string> = {
  insert: `${inserted},`,
  merge: `${upserted},`,
  nothing: `contact as (
    select c.project_id, c.id, c.email from message m
    join contacts c on c.project_id = m.project_id and c.email = m.email
    where $4::boolean is null and $5::jsonb is not null and $6::text[] is not null
    for key share of c
  ),`,
}

/**
 * $1 project, $2 key hash, $3 now, $4 subscribed, $5 data to set, $6 data to unset; $7 to $15 per recipient;
 * for all of them $16 from, $17 from name, $18 reply-to, $19 type, $20 template id, $21 attachment set, $22 bytes of
 * files, $23 shift of the database's clock; then for `once` key, holder, input hash and answer; then for `files` the
 * arrays name, media type, disposition, content id and bytes.
 *
 * The mail was rendered for contacts as they were read a moment before. When a concurrent request has made
 * one of them since, its id, which links in the mail carry, is another: then nothing may be stored, and
 * abort_statement ends the statement; the caller reads and renders again.
 */
const sendText = ({ single, contacts, once, files }: SendShape) => `
  with project as (
    select id from projects where id = $1::uuid and secret_hash = $2 and not disabled
      ${once ? `and ${reservationHolds('$1::uuid', '$24', '$25::uuid')}` : ''}
  ),
  message as (select project.id as project_id, m.* from project, ${recipientsRelation(single)}),
  ${contacts === 'nothing' ? '' : 'person as (select project_id, id, email from message),'}
  ${CONTACTS[contacts]}
  ${contacts === 'nothing' ? '' : `${contactCtes({ set: '$5', unset: '$6', source: "'send'", now: '$3' })},`}
  email as (
    insert into emails (project_id, id, contact_id, to_email, to_name, "from", from_name, reply_to, subject, type,
      source_type, status, template_id, message_id, attachment_set_id, created_at, updated_at)
    select m.project_id, m.email_id, contact.id, m.email, m.to_name, $16, $17, $18, m.subject, $19::message_type,
      'TRANSACTIONAL', 'PENDING', $20::uuid, m.message_id, $21::uuid, $3::timestamptz, $3::timestamptz
    from message m join contact using (project_id, email)
  ),
  content as (
    insert into email_contents (project_id, email_id, html, headers)
    select project_id, email_id, html, headers::jsonb from message
  ),
  delivery as (
    insert into deliveries (project_id, email_id, priority, size, due_at)
    select project_id, email_id, 0, octet_length(html) + $22::int, ${databaseNow('$23')} from message
  )
  ${files ? `, ${attachmentCte(once ? 28 : 24)}` : ''}
  ${once ? `, ${answerCtes}` : ''}
  select exists (select from project) as admitted, ${contacts === 'insert' ? 'true' : RENDERED_FOR_THESE} as stored,
    ${contacts === 'nothing' ? 'false' : heard('heard_contact')} as heard`

const RENDERED_FOR_THESE = `case when exists (select from message m left join contact c using (project_id, email)
                      where c.id is distinct from m.contact_id)
      then abort_statement('a recipient was made by a concurrent request') else true end`

const attachmentCte = (first: number) => `
  attachment as (
    insert into email_attachments
      (project_id, set_id, position, filename, content_type, disposition, content_id, content)
    select project.id, $21::uuid, f.position, f.filename, f.content_type, f.disposition, f.content_id, f.content
    from project,
      unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[], $${first + 4}::bytea[])
      with ordinality as f (filename, content_type, disposition, content_id, content, position)
  )`

const answerCtes = `
  answer as (select $27::text as response from project),
  remembered as (${rememberAnswer('$1::uuid', '$24', '$25::uuid', '$26')})`

/** Characters of HTML up to which a message is stored in no time. */
const SHORT_HTML = 256 * 1024

const statements = new Map<string, Statement<SendRow>>()

/**
 * Contacts, their subscription events, emails, contents and files in one statement, so in one commit. What takes
 * a while to store (many recipients, files, a large body) does not share a connection with others.
 */
export function storeSend(shape: SendShape, htmlLength: number): Statement<SendRow> {
  const { single, contacts } = shape
  const name = `store-send-${contacts}${single ? '' : '-many'}${shape.once ? '-once' : ''}${shape.files ? '-files' : ''}`
  const short = single && !shape.files && htmlLength <= SHORT_HTML
  const key = `${name} ${short}`
  const known = statements.get(key) ?? (short ? shortStatement : statement)<SendRow>(name, sendText(shape))
  statements.set(key, known)
  return known
}
