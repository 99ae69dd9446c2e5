import { refusalOf } from '../../access.ts'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState, violates } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { newId } from '../../lib/ids.ts'
import type { DataChange } from '../contacts/contact-data.rules.ts'
import { refuseTooLarge } from '../contacts/contacts.ts'
import type { AttachmentFile } from './attachments.ts'
import type { Composed } from './compose.ts'
import { messageIdOf } from './message-id.ts'
import type { NamedAddress } from './recipients.rules.ts'
import { headerList, type SendInput } from './send.rules.ts'
import { type ContactNeed, storeSend } from './send.sql.ts'

/** The abort_statement function of the migrations raises it. */
const ABORTED = 'MW001'
/** Broken when the contact was deleted, or made by another request, since it was read. */
const RACES = ['emails_project_id_contact_id_fkey', 'contacts_project_id_email_key']

export type SentEmail = { contact: { id: string; email: string }; email: string }
export type SendResult = { emails: SentEmail[]; timestamp: Date }

/** What the request and its template come to, for all recipients. */
export type Message = {
  from: NamedAddress
  replyTo: string | null
  subject: string
  body: string
  type: MessageType
}

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
  addressed: Addressed[]
  files: AttachmentFile[]
  result: SendResult
}

/** Stores a message in one commit. False when a contact was made or deleted by another request since it was read. */
export async function store(ctx: Ctx, send: ReadySend): Promise<boolean> {
  const { contacts, addressed, files } = send
  const shape = {
    single: addressed.length === 1,
    contacts,
    once: ctx.reservation?.kind === 'held',
    files: files.length > 0,
  }
  const htmlLength = addressed.reduce((sum, { composed }) => sum + composed.html.length, 0)
  try {
    const [row] = await ctx.sql(storeSend(shape, htmlLength), valuesOf(ctx, send))
    if (!row?.admitted) throw await refusalOf(ctx.services.keyRing, ctx.actor)
    wakeFollowers(ctx, [row])
    return true
  } catch (error) {
    if (sqlState(error) === ABORTED || RACES.some((constraint) => violates(error, constraint))) return false
    return refuseTooLarge(error)
  }
}

/** In the order in which the statement takes them. */
function valuesOf(ctx: Ctx, { input, change, contacts, message, addressed, files, result }: ReadySend) {
  const held = ctx.reservation?.kind === 'held' ? ctx.reservation : null
  const single = addressed.length === 1
  return [
    projectIdOf(ctx),
    ctx.actor.kind === 'key' ? ctx.actor.keyHash : null,
    result.timestamp,
    ...(contacts === 'nothing'
      ? [null, '{}', []]
      : [input.subscribed ?? null, JSON.stringify(change.set), change.unset]),
    ...perRecipient(input, message, inLockOrder(addressed)).map((column) => (single ? column[0] : column)),
    message.from.email,
    message.from.name ?? null,
    message.replyTo,
    message.type,
    input.template ?? null,
    files.length > 0 ? newId(result.timestamp) : null,
    files.reduce((sum, { content }) => sum + content.length, 0),
    ctx.services.clockShift(),
    ...(held ? [held.key, held.holder, held.bodyHash, JSON.stringify(result)] : []),
    ...(files.length > 0 ? perFile(files) : []),
  ]
}

/** Two requests that take the same contacts in another order would wait for each other. */
const inLockOrder = (addressed: Addressed[]): Addressed[] =>
  addressed.toSorted((a, b) => (a.recipient.email < b.recipient.email ? -1 : 1))

function perRecipient(input: SendInput, message: Message, addressed: Addressed[]): (string | null)[][] {
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
    addressed.map(({ emailId }) => messageIdOf(emailId, message.from.email)),
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
