import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Slots } from '../lib/async/slots.ts'
import { defineMailer } from './define-mailer.ts'
import { idOf, type MailFolder, mailFolder } from './mail-folder.ts'
import type { Mailbox, Mailer, OutgoingMail } from './mailer.ts'
import { composeMessage, SigningKeys, UnsendableMail } from './mime.ts'

const storedMessage = z.object({
  id: z.string(),
  /** `Name <address>`, or the address alone. */
  from: z.string(),
  to: z.string(),
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  /** By name as it was given; values of a repeated header are joined with a comma. */
  headers: z.record(z.string(), z.string()),
  /** `size` in bytes. */
  attachments: z.array(
    z.object({
      filename: z.string(),
      contentType: z.string(),
      size: z.number(),
      contentId: z.string().optional(),
    }),
  ),
  /** ISO 8601. */
  receivedAt: z.string(),
})

export type MailboxMessage = z.infer<typeof storedMessage>

export type MailboxFilter = {
  /** One address, without regard to case. */
  to?: string | undefined
  /** A part of the subject, of an address or of the text, without regard to case. */
  search?: string | undefined
  limit: number
}

export interface MailboxReader {
  /** Newest first; fewer when they are large: together at most MAX_LISTED_BYTES, or one message. */
  list(filter: MailboxFilter): Promise<MailboxMessage[]>
  /** The number of all messages. */
  count(): Promise<number>
  message(id: string): Promise<MailboxMessage | null>
  /** The message as it would have gone out, or null when there is none. */
  raw(id: string): Promise<Buffer | null>
  /** The bytes of an attachment, by its place in the message. */
  attachment(id: string, index: number): Promise<Buffer | null>
  /** Removes every message that the list shows or could show. */
  clear(): Promise<void>
}

export type MailboxOptions = {
  directory: string
  /** How many messages are kept; the oldest go first. */
  keep?: number | undefined
  now?: (() => Date) | undefined
}

/** Names that a file may have: none can leave the directory or look like another file's suffix. */
const PLAIN_ID = /^[\w-]{1,100}$/

/**
 * Keeps mail in a directory in place of sending it. A message is `<emailId>.eml` beside its attachments
 * `<emailId>.<index>.attachment` and `<emailId>.<hash of the recipient>.json`: email ids sort by time, so that the names
 * alone give the newest messages and those to one address.
 */
export function createMailboxMailer(options: MailboxOptions): Mailer & MailboxReader {
  const { directory, keep = 5000, now = () => new Date() } = options
  const folder = mailFolder(directory)
  const pruneEvery = Math.ceil(keep / 20)
  let writesUntilPrune = 0

  async function pruneNowAndThen(): Promise<void> {
    writesUntilPrune -= 1
    if (writesUntilPrune > 0) return
    writesUntilPrune = pruneEvery
    await folder.prune(keep)
  }

  const keys = new SigningKeys()
  const mailer = defineMailer({
    provider: 'mailbox',
    concurrency: 8,
    async deliver(mail) {
      if (!PLAIN_ID.test(mail.emailId)) throw new UnsendableMail('The email id cannot be a file name')
      await folder.write(await filesOf(mail, keys, now()))
      // The message is stored, whatever becomes of the old ones; the next round tries them again.
      await pruneNowAndThen().catch(() => undefined)
      return { kind: 'sent', providerMessageId: null }
    },
  })

  return { ...mailer, ...reader(folder) }
}

/** Bytes of messages in one list; larger lists would keep the process from everything else. */
const MAX_LISTED_BYTES = 16 * 1024 * 1024

function reader(folder: MailFolder): MailboxReader {
  const turns = new Slots(1)
  return {
    async list({ to, search = '', limit }) {
      const suffix = to === undefined ? '.json' : `.${recipientTag(to)}.json`
      const names = (await folder.names()).filter((name) => name.endsWith(suffix))
      const giveBack = await turns.take(1, '')
      try {
        return await readNewest(folder, names.sort().reverse(), search.toLowerCase(), limit)
      } finally {
        giveBack()
      }
    },
    async count() {
      return (await folder.names()).filter((name) => name.endsWith('.json')).length
    },
    async message(id) {
      if (!PLAIN_ID.test(id)) return null
      const name = (await folder.names()).find((one) => one.startsWith(`${id}.`) && one.endsWith('.json'))
      const json = name === undefined ? null : await folder.read(name)
      return json && messageIn(json)
    },
    async raw(id) {
      return PLAIN_ID.test(id) ? folder.read(`${id}.eml`) : null
    },
    async attachment(id, index) {
      return PLAIN_ID.test(id) ? folder.read(`${id}.${index}.attachment`) : null
    },
    async clear() {
      // A message that is being written has no .json yet.
      const complete = (await folder.names()).filter((name) => name.endsWith('.json'))
      await folder.remove(new Set(complete.map(idOf)))
    },
  }
}

async function readNewest(
  folder: MailFolder,
  names: string[],
  search: string,
  limit: number,
): Promise<MailboxMessage[]> {
  const messages: MailboxMessage[] = []
  let bytes = 0
  for (const name of names) {
    if (messages.length >= limit) break
    const json = await folder.read(name)
    const message = json && messageIn(json)
    if (!message || !holds(message, search)) continue
    bytes += json.length
    if (messages.length > 0 && bytes > MAX_LISTED_BYTES) break
    messages.push(message)
  }
  return messages
}

/** Null when it was written by another version of the service and does not fit. */
const messageIn = (json: Buffer): MailboxMessage | null =>
  storedMessage.safeParse(JSON.parse(json.toString())).data ?? null

const holds = ({ subject, from, to, text }: MailboxMessage, search: string): boolean =>
  search === '' || [subject, from, to, text].some((part) => part.toLowerCase().includes(search))

/** The list shows what has a .json, which is therefore the last to be written. */
async function filesOf(mail: OutgoingMail, keys: SigningKeys, receivedAt: Date) {
  const tag = recipientTag(mail.to.address)
  const { raw } = await composeMessage(mail, keys)
  return [
    { name: `${mail.emailId}.eml`, content: raw },
    ...mail.attachments.map(({ content }, index) => ({
      name: `${mail.emailId}.${index}.attachment`,
      content,
    })),
    { name: `${mail.emailId}.${tag}.json`, content: JSON.stringify(describe(mail, receivedAt)) },
  ]
}

function recipientTag(address: string): string {
  return createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 16)
}

function describe(mail: OutgoingMail, receivedAt: Date): MailboxMessage {
  return {
    id: mail.emailId,
    from: shown(mail.from),
    to: shown(mail.to),
    subject: mail.subject,
    html: mail.html,
    text: mail.text,
    headers: shownHeaders(mail),
    attachments: mail.attachments.map(({ filename, contentType, content, contentId }) => ({
      filename,
      contentType,
      size: content.length,
      contentId,
    })),
    receivedAt: receivedAt.toISOString(),
  }
}

function shown({ name, address }: Mailbox): string {
  return name ? `${name} <${address}>` : address
}

function shownHeaders(mail: OutgoingMail): Record<string, string> {
  const headers = new Map([
    ['Message-ID', mail.messageId],
    ['Date', mail.date.toUTCString()],
    ['From', shown(mail.from)],
    ['To', mail.shownTo ?? shown(mail.to)],
    ['Subject', mail.subject],
  ])
  if (mail.shownCc !== undefined) headers.set('Cc', mail.shownCc)
  if (mail.replyTo !== undefined) headers.set('Reply-To', mail.replyTo)
  for (const { name, value } of mail.headers) {
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}
