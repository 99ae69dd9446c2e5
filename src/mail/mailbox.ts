import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Slots } from '../lib/slots.ts'
import { defineMailer } from './define-mailer.ts'
import { type MailFolder, mailFolder } from './mail-folder.ts'
import type { Mailbox, Mailer, OutgoingMail } from './mailer.ts'
import { composeMessage, UnsendableMail } from './mime.ts'

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

export interface MailboxReader {
  /**
   * Newest first, all of them or those to one address (without regard to case); fewer when they are large, so that they
   * come to at most MAX_LISTED_BYTES, or to one message.
   */
  list(filter: { to?: string | undefined; limit: number }): Promise<MailboxMessage[]>
  /** The message as it would have gone out, or null when there is none. */
  raw(id: string): Promise<Buffer | null>
}

export type MailboxOptions = {
  directory: string
  /** How many messages are kept; the oldest go first. */
  keep?: number | undefined
  now?: (() => Date) | undefined
}

/** What a file may be named after: nothing in it can leave the directory or look like another file's suffix. */
const plainId = /^[\w-]{1,100}$/

/**
 * Keeps mail in a directory in place of sending it. A message is `<emailId>.eml` beside
 * `<emailId>.<hash of the recipient>.json`: email ids sort by time, so that the names alone give the newest
 * messages and those to one address.
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

  const mailer = defineMailer({
    provider: 'mailbox',
    concurrency: 8,
    async deliver(mail) {
      if (!plainId.test(mail.emailId)) throw new UnsendableMail('The email id cannot be a file name')
      await folder.write(await filesOf(mail, now()))
      // The message is stored, whatever becomes of the old ones; the next round tries them again.
      await pruneNowAndThen().catch(() => undefined)
      return { kind: 'sent', providerMessageId: null }
    },
  })

  return { ...mailer, ...reader(folder) }
}

/** What one list has of messages; larger ones would keep the process from everything else. */
const MAX_LISTED_BYTES = 16 * 1024 * 1024

function reader(folder: MailFolder): MailboxReader {
  const turns = new Slots(1)
  return {
    async list({ to, limit }) {
      const suffix = to === undefined ? '.json' : `.${recipientTag(to)}.json`
      const names = (await folder.names()).filter((name) => name.endsWith(suffix))
      const giveBack = await turns.take(1, '')
      try {
        return await readNewest(folder, names.sort().reverse(), limit)
      } finally {
        giveBack()
      }
    },
    async raw(id) {
      return plainId.test(id) ? folder.read(`${id}.eml`) : null
    },
  }
}

async function readNewest(folder: MailFolder, names: string[], limit: number): Promise<MailboxMessage[]> {
  const messages: MailboxMessage[] = []
  let bytes = 0
  for (const name of names) {
    if (messages.length >= limit) break
    const json = await folder.read(name)
    if (json === null) continue
    bytes += json.length
    if (messages.length > 0 && bytes > MAX_LISTED_BYTES) break
    // Written by another version of the service when it does not fit.
    const { data } = storedMessage.safeParse(JSON.parse(json.toString()))
    if (data) messages.push(data)
  }
  return messages
}

/** The list shows what has a .json, which is therefore the last to be written. */
async function filesOf(mail: OutgoingMail, receivedAt: Date) {
  const tag = recipientTag(mail.to.address)
  const { raw } = await composeMessage(mail)
  return [
    { name: `${mail.emailId}.eml`, content: raw },
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
    ['To', shown(mail.to)],
    ['Subject', mail.subject],
  ])
  if (mail.replyTo !== undefined) headers.set('Reply-To', mail.replyTo)
  for (const { name, value } of mail.headers) {
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}
