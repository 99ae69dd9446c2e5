import { refusalOf } from '../../access.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState, violates } from '../../db/sql.ts'
import {
  contactUnsubscribed,
  domainNotVerified,
  notFound,
  serviceUnavailable,
  tooLarge,
} from '../../errors.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { domainOf } from '../../lib/email-address.ts'
import { newId } from '../../lib/ids.ts'
import { RenderBatch } from '../../mail/render.ts'
import { type DataChange, mergeData, readData } from '../contacts/contact-data.rules.ts'
import { refuseTooLarge } from '../contacts/contacts.ts'
import { noteFieldNames } from '../contacts/field-names.ts'
import { assertSyntax } from '../templates/syntax.ts'
import { type AttachmentFile, assertMessageSize, readAttachments } from './attachments.ts'
import { type Composed, compose } from './compose.ts'
import { messageIdOf } from './message-id.ts'
import type { NamedAddress, Sender } from './recipients.rules.ts'
import { headerList, type SendInput } from './send.rules.ts'
import { type SendContext, sendContextOfMany, sendContextOfOne, storeSend } from './send.sql.ts'

export type SentEmail = { contact: { id: string; email: string }; email: string }
export type SendResult = { emails: SentEmail[]; timestamp: Date }

/** What the request and its template come to, for all recipients. */
type Message = {
  from: NamedAddress
  replyTo: string | null
  subject: string
  body: string
  type: MessageType
}

type Addressed = {
  recipient: NamedAddress
  /** For a contact that the request may turn out to make. */
  newContactId: string
  contactId: string
  emailId: string
  composed: Composed
}

/** The abort_statement function of the migrations raises it. */
const ABORTED = 'MW001'
const ATTEMPTS = 5

/**
 * Accepts a message for all of its recipients, or for none: contacts, mail and its place in the delivery
 * queue are one commit. At most two round trips: one reads, one writes.
 */
export async function sendEmail(ctx: Ctx, input: SendInput): Promise<SendResult> {
  const files = readAttachments(ctx.config, input.attachments ?? [])
  const change = readData(input.data)
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const result = await tryToSend(ctx, input, change, files)
    if (!result) continue
    ctx.services.wakeUp.notify()
    await noteFieldNames(ctx, change.set)
    return result
  }
  throw serviceUnavailable()
}

async function tryToSend(
  ctx: Ctx,
  input: SendInput,
  change: DataChange,
  files: AttachmentFile[],
): Promise<SendResult | null> {
  const now = ctx.now()
  const known = await readContext(ctx, input)
  const message = messageOf(input, known)
  assertSyntax('subject', message.subject)
  assertSyntax('body', message.body)
  if (!known.domainVerified) throw domainNotVerified(domainOf(message.from.email))
  assertSubscribed(input, message, known)
  const addressed = addressAll(ctx, { input, change, files, message, contacts: known.contacts, now })
  const result: SendResult = {
    emails: addressed.map(({ contactId, recipient, emailId }) => ({
      contact: { id: contactId, email: recipient.email },
      email: emailId,
    })),
    timestamp: now,
  }
  const stored = await store(ctx, input, change, message, addressed, files, result)
  return stored ? result : null
}

async function readContext(ctx: Ctx, input: SendInput): Promise<SendContext> {
  const addresses = input.to.map(({ email }) => email)
  const [known] = await ctx.sql(addresses.length === 1 ? sendContextOfOne : sendContextOfMany, [
    projectIdOf(ctx),
    keyHashOf(ctx),
    input.template ?? null,
    input.from ? domainOf(input.from.email) : null,
    addresses.length === 1 ? addresses[0] : addresses,
  ])
  if (!known?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
  if (input.template && !known.template) throw notFound('The template', 'TEMPLATE_NOT_FOUND')
  return known
}

const keyHashOf = (ctx: Ctx) => (ctx.actor.kind === 'key' ? ctx.actor.keyHash : null)

function messageOf(input: SendInput, { template }: SendContext): Message {
  const from = input.from
    ? { email: input.from.email, name: senderName(input.from, input.name) }
    : { email: template?.from ?? '', name: template?.fromName ?? undefined }
  return {
    from,
    replyTo: input.reply ?? template?.replyTo ?? null,
    subject: input.subject ?? template?.subject ?? '',
    body: input.body ?? template?.body ?? '',
    type: template?.type ?? 'TRANSACTIONAL',
  }
}

const senderName = (from: Sender, deprecated: string | undefined) =>
  from.name ?? (from.form === 'text' ? deprecated : undefined)

/** Only transactional mail goes to people who have not subscribed. */
function assertSubscribed(input: SendInput, message: Message, known: SendContext): void {
  if (message.type === 'TRANSACTIONAL' || input.subscribed === true) return
  const subscribed = new Set(known.contacts.filter((contact) => contact.subscribed).map(({ email }) => email))
  const refused = input.to.filter(({ email }) => input.subscribed === false || !subscribed.has(email))
  if (refused.length > 0) throw contactUnsubscribed(refused.map(({ email }) => email))
}

type Draft = {
  input: SendInput
  change: DataChange
  files: AttachmentFile[]
  message: Message
  contacts: SendContext['contacts']
  now: Date
}

/** What one request may store, all recipients together; a campaign is the way to write to many. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

/** Renders the message for each recipient, and stops when they come to more than one request may store. */
function addressAll(ctx: Ctx, draft: Draft): Addressed[] {
  const contacts = new Map(draft.contacts.map((contact) => [contact.email, contact]))
  const batch = new RenderBatch()
  let size = 0
  return draft.input.to.map((recipient) => {
    const addressed = address(ctx, draft, recipient, contacts.get(recipient.email), batch)
    const { html } = addressed.composed
    assertMessageSize(ctx.config, html, draft.files)
    size += html.length
    if (size <= MAX_REQUEST_BYTES) return addressed
    throw tooLarge('The messages of this request are too large together; send it in several requests.')
  })
}

function address(
  ctx: Ctx,
  { input, change, message, now }: Draft,
  recipient: NamedAddress,
  contact: SendContext['contacts'][number] | undefined,
  batch: RenderBatch,
): Addressed {
  const newContactId = newId(now)
  const contactId = contact?.id ?? newContactId
  const emailId = newId(now)
  const merged = mergeData(contact?.data ?? {}, change)
  const receiver = {
    projectId: projectIdOf(ctx),
    contactId,
    emailId,
    email: recipient.email,
    name: recipient.name,
    subscribed: input.subscribed ?? contact?.subscribed ?? false,
    data: { ...merged, ...change.values },
  }
  const composed = compose(ctx.config, message, receiver, { batch })
  return { recipient, newContactId, contactId, emailId, composed }
}

/** Two requests that take the same contacts in another order would wait for each other. */
const inLockOrder = (addressed: Addressed[]): Addressed[] =>
  addressed.toSorted((a, b) => (a.recipient.email < b.recipient.email ? -1 : 1))

/** False when a contact was made or deleted by another request since it was read. */
async function store(
  ctx: Ctx,
  input: SendInput,
  change: DataChange,
  message: Message,
  addressed: Addressed[],
  files: AttachmentFile[],
  result: SendResult,
): Promise<boolean> {
  const held = ctx.reservation?.kind === 'held' ? ctx.reservation : null
  const single = addressed.length === 1
  const values = [
    projectIdOf(ctx),
    keyHashOf(ctx),
    result.timestamp,
    input.subscribed ?? null,
    JSON.stringify(change.set),
    change.unset,
    ...perRecipient(ctx, input, message, inLockOrder(addressed)).map((column) =>
      single ? column[0] : column,
    ),
    message.from.email,
    message.from.name ?? null,
    message.replyTo,
    message.type,
    input.template ?? null,
    files.length > 0 ? newId(result.timestamp) : null,
    ...(held ? [held.key, held.holder, held.bodyHash, JSON.stringify(result)] : []),
    ...(files.length > 0 ? perFile(files) : []),
  ]
  try {
    const htmlLength = addressed.reduce((sum, { composed }) => sum + composed.html.length, 0)
    const statement = storeSend({ single, once: held !== null, files: files.length > 0 }, htmlLength)
    const [row] = await ctx.sql(statement, values)
    if (!row?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
    return true
  } catch (error) {
    if (sqlState(error) === ABORTED || violates(error, 'emails_project_id_contact_id_fkey')) return false
    return refuseTooLarge(error)
  }
}

function perRecipient(
  ctx: Ctx,
  input: SendInput,
  message: Message,
  addressed: Addressed[],
): (string | null)[][] {
  const projectId = projectIdOf(ctx)
  const own = headerList(input.headers)
  return [
    addressed.map(({ recipient }) => recipient.email),
    addressed.map(({ newContactId }) => newContactId),
    addressed.map(({ contactId }) => contactId),
    addressed.map(({ emailId }) => emailId),
    addressed.map(({ recipient }) => recipient.name ?? null),
    addressed.map(({ composed }) => composed.subject),
    addressed.map(({ composed }) => composed.html),
    addressed.map(({ composed }) => JSON.stringify(withOwnHeaders(composed, own))),
    addressed.map(({ emailId }) => messageIdOf(projectId, emailId, message.from.email)),
  ]
}

/** The service's headers win: an unsubscribe link that does not work would break the law for the sender. */
function withOwnHeaders(composed: Composed, own: { name: string; value: string }[]) {
  const taken = new Set(composed.headers.map(({ name }) => name.toLowerCase()))
  return [...own.filter(({ name }) => !taken.has(name.toLowerCase())), ...composed.headers]
}

const perFile = (files: AttachmentFile[]): unknown[] => [
  files.map(({ filename }) => filename),
  files.map(({ contentType }) => contentType),
  files.map(({ disposition }) => disposition),
  files.map(({ contentId }) => contentId),
  files.map(({ content }) => content),
]
