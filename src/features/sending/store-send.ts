import { refusalOf } from '../../admission/access.ts'
import type { HeldKey } from '../../admission/idempotency.sql.ts'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState, violates } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { newId } from '../../lib/ids.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { MailHeader } from '../../mail/mailer.ts'
import type { DataChange } from '../contacts/contact-data.rules.ts'
import { refuseTooLarge } from '../contacts/contacts.ts'
import type { Composed } from '../emails/compose.ts'
import { messageIdOf } from '../emails/message-id.ts'
import type { AttachmentFile } from './attachments.ts'
import type { NamedAddress } from './recipients.input.ts'
import type { SendInput } from './send.input.ts'
import {
  type ContactNeed,
  type FileParams,
  type OnceParams,
  type RecipientParams,
  type RecipientsParams,
  type SendParams,
  storeSend,
} from './send.sql.ts'

/** The abort_statement function of the migrations raises it. */
const ABORTED = 'MW001'
/** The constraint that fails when another request has deleted or created the contact since it was read. */
const RACES = ['emails_project_id_contact_id_fkey', 'contacts_project_id_email_key']

export type SentEmail = { contact: { id: string; email: string }; email: string }
export type SendResult = { emails: SentEmail[]; timestamp: Date }

/** The message of the request and its template, for all recipients. */
export type Message = {
  from: NamedAddress
  replyTo: string | null
  subject: string
  body: string
  type: MessageType
  /** Of the project. */
  language: string
  footerText: string | null
}

/** What a message has that is not rendered. */
export type Finished = { text: string | null; headers: MailHeader[] }

export type Addressed = {
  recipient: NamedAddress
  /** For a contact that the request may turn out to make. */
  newContactId: string
  contactId: string
  emailId: string
  composed: Composed
}

/** A message that is rendered for all of its recipients. */
export type ReadySend = {
  input: SendInput
  change: DataChange
  contacts: ContactNeed
  message: Message
  /** Null for a message that was rendered. */
  finished: Finished | null
  addressed: Addressed[]
  files: AttachmentFile[]
  result: SendResult
}

/**
 * Stores a message in one commit, for all recipients or for none when the project's cap leaves no room. Returns false when another request has created or deleted a contact since
 * it was read.
 */
export async function store(ctx: Ctx, send: ReadySend): Promise<boolean> {
  const { mailPermits } = ctx.services
  if (!mailPermits) return tryToStore(ctx, send)
  const permits = [projectIdOf(ctx), 'TRANSACTIONAL', send.addressed.length, send.result.timestamp] as const
  await mailPermits.take(...permits)
  let stored = false
  try {
    stored = await tryToStore(ctx, send)
    return stored
  } finally {
    if (!stored) await mailPermits.giveBack(...permits)
  }
}

async function tryToStore(ctx: Ctx, send: ReadySend): Promise<boolean> {
  const { contacts, addressed, files } = send
  const shape = {
    single: addressed.length === 1,
    contacts,
    once: ctx.heldKey !== null,
    files: files.length > 0,
    billed: ctx.services.mailPermits !== null,
  }
  const htmlLength = addressed.reduce((sum, { composed }) => sum + composed.html.length, 0)
  try {
    const [row] = await ctx.sql(storeSend(shape, htmlLength), paramsOf(ctx, send))
    if (!row?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
    wakeFollowers(ctx, [row])
    return true
  } catch (error) {
    if (sqlState(error) === ABORTED || RACES.some((constraint) => violates(error, constraint))) return false
    return refuseTooLarge(error)
  }
}

function paramsOf(ctx: Ctx, send: ReadySend): SendParams {
  const { input, change, message, finished, addressed, files, result } = send
  return {
    projectId: projectIdOf(ctx),
    keyHash: ctx.actor.kind === 'key' ? ctx.actor.keyHash : null,
    now: result.timestamp,
    subscribed: input.subscribed ?? null,
    set: JSON.stringify(change.set),
    unset: change.unset,
    ...recipients(finished?.headers ?? headerList(input.headers), message, addressed),
    from: message.from.email,
    fromName: message.from.name ?? null,
    replyTo: message.replyTo,
    text: finished?.text ?? null,
    type: message.type,
    templateId: input.template ?? null,
    attachmentSetId: files.length > 0 ? newId(result.timestamp) : null,
    fileBytes: files.reduce((sum, { content }) => sum + content.length, 0),
    clockShift: ctx.services.clockShift(),
    ...(ctx.heldKey && onceParams(ctx.heldKey, result)),
    ...(files.length > 0 && fileParams(files)),
  }
}

const onceParams = (held: HeldKey, result: SendResult): OnceParams => ({
  ...held,
  answer: JSON.stringify(result),
})

const fileParams = (files: AttachmentFile[]): FileParams => ({
  filenames: files.map(({ filename }) => filename),
  contentTypes: files.map(({ contentType }) => contentType),
  dispositions: files.map(({ disposition }) => disposition),
  contentIds: files.map(({ contentId }) => contentId),
  contents: files.map(({ content }) => content),
})

/** Two requests that take the same contacts in another order would wait for each other. */
const inLockOrder = (addressed: Addressed[]): Addressed[] =>
  addressed.toSorted((a, b) => (a.recipient.email < b.recipient.email ? -1 : 1))

function recipients(
  own: MailHeader[],
  message: Message,
  addressed: Addressed[],
): RecipientParams | RecipientsParams {
  const all = inLockOrder(addressed).map(({ recipient, composed, newContactId, contactId, emailId }) => ({
    to: recipient.email,
    newContactId,
    contactId,
    emailId,
    toName: recipient.name ?? null,
    subject: composed.subject,
    html: composed.html,
    headers: JSON.stringify(withOwnHeaders(composed, own)),
    messageId: messageIdOf(emailId, message.from.email),
  }))
  const [first] = all
  if (first && all.length === 1) return first
  return {
    to: all.map(({ to }) => to),
    newContactId: all.map(({ newContactId }) => newContactId),
    contactId: all.map(({ contactId }) => contactId),
    emailId: all.map(({ emailId }) => emailId),
    toName: all.map(({ toName }) => toName),
    subject: all.map(({ subject }) => subject),
    html: all.map(({ html }) => html),
    headers: all.map(({ headers }) => headers),
    messageId: all.map(({ messageId }) => messageId),
  }
}

/** The service's headers win: an unsubscribe link that does not work would break the law for the sender. */
function withOwnHeaders(composed: Composed, own: MailHeader[]): MailHeader[] {
  const taken = new Set(composed.headers.map(({ name }) => name.toLowerCase()))
  return [...own.filter(({ name }) => !taken.has(name.toLowerCase())), ...composed.headers]
}

/** Custom headers in their order. */
const headerList = (headers: JsonObject | undefined): MailHeader[] =>
  Object.entries(headers ?? {}).map(([name, value]) => ({ name, value: String(value) }))
