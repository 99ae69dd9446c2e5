import { refusalOf } from '../../admission/access.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { contactUnsubscribed, notFound, serviceUnavailable, tooLarge } from '../../errors.ts'
import { Pauses } from '../../lib/async/pauses.ts'
import { retried } from '../../lib/async/retried.ts'
import { newId } from '../../lib/ids.ts'
import type { MailHeader } from '../../mail/mailer.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import { mayReceive } from '../../messages/may-receive.rules.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { changesData, type DataChange, mergeData, readData } from '../contacts/contact-data.rules.ts'
import { recordFieldNames } from '../contacts/field-names.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { keepsMail, unverifiedSender } from '../domains/sender.ts'
import { type Composed, compose } from '../emails/compose.ts'
import { projectVoice, type Voice } from '../projects/project-settings.ts'
import { assertSyntax } from '../templates/syntax.ts'
import { type AttachmentFile, assertAttachments, assertMessageSize, readAttachments } from './attachments.ts'
import type { NamedAddress, Sender } from './recipients.input.ts'
import type { SendInput } from './send.input.ts'
import { type ContactNeed, type SendContext, sendContextOfMany, sendContextOfOne } from './send.sql.ts'
import { type Addressed, type Finished, type Message, type SendResult, store } from './store-send.ts'

/**
 * Accepts a message for all of its recipients, or for none: contacts, mail and its place in the delivery
 * queue are one commit. At most two round trips: one reads, one writes; new fields of contacts are recorded in between.
 */
export function sendEmail(ctx: Ctx, input: SendInput): Promise<SendResult> {
  return send(ctx, input, readAttachments(ctx.config, input.attachments ?? []))
}

/**
 * The same for a message that is sent as it is: nothing in it is a placeholder, no link is tracked, and it has the text part
 * and the headers that it came with. Throws as `sendEmail` does.
 */
export function sendFinished(
  ctx: Ctx,
  { input, text, headers, files }: FinishedMessage,
): Promise<SendResult> {
  assertAttachments(ctx.config, files)
  return send(ctx, { ...NOTHING_ELSE, ...input }, files, { text, headers })
}

export type FinishedMessage = {
  /** With the HTML as `body`, empty when there is none. */
  input: Pick<SendInput, 'to' | 'from' | 'subject' | 'body'> & { reply: string | undefined }
  /** Null: it is made from the HTML. */
  text: string | null
  headers: MailHeader[]
  files: AttachmentFile[]
}

const NOTHING_ELSE = {
  template: undefined,
  name: undefined,
  subscribed: undefined,
  data: undefined,
  headers: undefined,
  attachments: undefined,
}

async function send(
  ctx: Ctx,
  input: SendInput,
  files: AttachmentFile[],
  finished: Finished | null = null,
): Promise<SendResult> {
  const change = readData(input.data)
  const result = await retried(() => tryToSend(ctx, input, change, files, finished))
  if (!result) throw serviceUnavailable()
  ctx.requestWork(mailDeliveryWork, PRIORITIES.transactional)
  return result
}

async function tryToSend(
  ctx: Ctx,
  input: SendInput,
  change: DataChange,
  files: AttachmentFile[],
  finished: Finished | null,
): Promise<SendResult | undefined> {
  const now = ctx.now()
  const known = await readContext(ctx, input)
  const message = messageOf(input, known, await projectVoice(ctx))
  if (!finished) {
    await assertSyntax(ctx, 'subject', message.subject)
    await assertSyntax(ctx, 'body', message.body)
  }
  if (!known.domainVerified) throw await unverifiedSender(ctx, domainOf(message.from.email))
  assertSubscribed(input, message, known)
  const addressed = await addressAll(ctx, { input, change, files, message, finished, known, now })
  const result: SendResult = {
    emails: addressed.map(({ contactId, recipient, emailId }) => ({
      contact: { id: contactId, email: recipient.email },
      email: emailId,
    })),
    timestamp: now,
  }
  const contacts = contactNeedOf(input, change, known)
  await recordFieldNames(ctx, change.set)
  const stored = await store(ctx, { input, change, contacts, message, finished, addressed, files, result })
  return stored ? result : undefined
}

async function readContext(ctx: Ctx, input: SendInput): Promise<SendContext> {
  const addresses = input.to.map(({ email }) => email)
  const [address] = addresses
  const params = {
    projectId: projectIdOf(ctx),
    keyHash: keyHashOf(ctx),
    templateId: input.template ?? null,
    domain: input.from ? domainOf(input.from.email) : null,
    keepsMail: keepsMail(ctx.config),
  }
  const [known] =
    address !== undefined && addresses.length === 1
      ? await ctx.sql(sendContextOfOne, { ...params, address })
      : await ctx.sql(sendContextOfMany, { ...params, addresses })
  if (!known?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
  if (input.template && !known.template) throw notFound('The template', 'TEMPLATE_NOT_FOUND')
  return known
}

/**
 * Whether contacts have to be created or merged. Mail to known contacts about whom the request says nothing
 * new, and to one new contact, are the usual cases, and need no merging.
 */
function contactNeedOf(input: SendInput, change: DataChange, { contacts }: SendContext): ContactNeed {
  if (contacts.length === 0 && input.to.length === 1) return 'insert'
  if (contacts.length < input.to.length) return 'merge'
  const isUnchanged = contacts.every(
    ({ subscribed, data }) => (input.subscribed ?? subscribed) === subscribed && !changesData(data, change),
  )
  return isUnchanged ? 'nothing' : 'merge'
}

const asItIs = ({ subject, body }: Message, { text }: Finished): Composed => ({
  subject,
  html: body,
  text,
  headers: [],
})

const keyHashOf = (ctx: Ctx) => (ctx.actor.kind === 'key' ? ctx.actor.keyHash : null)

function messageOf(input: SendInput, { template }: SendContext, voice: Voice): Message {
  const from = input.from
    ? { email: input.from.email, name: senderName(input.from, input.name) }
    : { email: template?.from ?? '', name: template?.fromName ?? undefined }
  return {
    from,
    replyTo: input.reply ?? template?.replyTo ?? null,
    subject: input.subject ?? template?.subject ?? '',
    body: input.body ?? template?.body ?? '',
    type: template?.type ?? 'TRANSACTIONAL',
    ...voice,
  }
}

const senderName = (from: Sender, deprecated: string | undefined) =>
  from.name ?? (from.form === 'text' ? deprecated : undefined)

/** Only transactional mail goes to people who have not subscribed. */
function assertSubscribed(input: SendInput, message: Message, known: SendContext): void {
  const subscribed = new Set(known.contacts.filter((contact) => contact.subscribed).map(({ email }) => email))
  const refused = input.to.filter(
    ({ email }) =>
      // Whose address is suppressed is looked at when the message leaves.
      !mayReceive({
        type: message.type,
        subscribed: input.subscribed ?? subscribed.has(email),
        suppressed: false,
      }),
  )
  if (refused.length > 0) throw contactUnsubscribed(refused.map(({ email }) => email))
}

type Draft = {
  input: SendInput
  change: DataChange
  files: AttachmentFile[]
  message: Message
  finished: Finished | null
  known: SendContext
  now: Date
}

/** What one request may store, all recipients together; a campaign is the way to write to many. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

/** Renders the message for each recipient, and stops when all together exceed what one request may store. */
async function addressAll(ctx: Ctx, draft: Draft): Promise<Addressed[]> {
  const contacts = new Map(draft.known.contacts.map((contact) => [contact.email, contact]))
  const addressed: Addressed[] = []
  const pauses = new Pauses()
  let size = 0
  for (const recipient of draft.input.to) {
    const one = await address(ctx, draft, recipient, contacts.get(recipient.email))
    const { html } = one.composed
    assertMessageSize(ctx.config, html, draft.files)
    size += html.length + (draft.finished?.text?.length ?? 0)
    if (size > MAX_REQUEST_BYTES) {
      throw tooLarge('The messages of this request are too large together; send it in several requests.')
    }
    addressed.push(one)
    await pauses.whenDue()
  }
  return addressed
}

async function address(
  ctx: Ctx,
  { input, change, message, finished, known: { tracking }, now }: Draft,
  recipient: NamedAddress,
  contact: SendContext['contacts'][number] | undefined,
): Promise<Addressed> {
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
  const composed = finished ? asItIs(message, finished) : await compose(ctx, message, receiver, { tracking })
  return { recipient, newContactId, contactId, emailId, composed }
}
