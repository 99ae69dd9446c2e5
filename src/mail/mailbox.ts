import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { defineMailer, failed, messageOf } from './define-mailer.ts'
import type { Mailbox, Mailer, OutgoingMail } from './mailer.ts'
import { composeRaw, plainText, UnsendableMail } from './mime.ts'

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
  /** Newest first, all of them or those to one address (without regard to case). */
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
const unfinishedSuffix = '.tmp'

/**
 * Keeps mail in a directory in place of sending it. A message is `<emailId>.eml` beside
 * `<emailId>.<hash of the recipient>.json`: email ids sort by time, so that the names alone give the newest
 * messages and those to one address.
 */
export function createMailboxMailer(options: MailboxOptions): Mailer & MailboxReader {
  const { directory, keep = 5000, now = () => new Date() } = options
  const pruneEvery = Math.ceil(keep / 20)
  let writesUntilPrune = 0

  async function store(mail: OutgoingMail): Promise<void> {
    await mkdir(directory, { recursive: true })
    const complete = { ...mail, text: plainText(mail) }
    const raw = await composeRaw(complete)
    // The list shows what has a .json, which is therefore the last to appear.
    await writeWhole(directory, `${mail.emailId}.eml`, raw)
    await writeWhole(
      directory,
      `${mail.emailId}.${recipientTag(mail.to.address)}.json`,
      JSON.stringify(describe(complete, now())),
    )
    await sync(directory)
  }

  async function pruneNowAndThen(): Promise<void> {
    writesUntilPrune -= 1
    if (writesUntilPrune > 0) return
    writesUntilPrune = pruneEvery
    await prune(directory, keep)
  }

  const mailer = defineMailer({
    provider: 'mailbox',
    concurrency: 8,
    async deliver(mail) {
      if (!plainId.test(mail.emailId)) throw new UnsendableMail('The email id cannot be a file name')
      await store(mail)
      // The message is stored, whatever becomes of the old ones; the next round tries them again.
      await pruneNowAndThen().catch(() => undefined)
      return { kind: 'sent', providerMessageId: null }
    },
    explain: (error) => failed('temporary', `Mailbox: ${messageOf(error)}`),
  })

  return {
    ...mailer,
    async list({ to, limit }) {
      const suffix = to === undefined ? '.json' : `.${recipientTag(to)}.json`
      const names = (await namesIn(directory)).filter((name) => name.endsWith(suffix))
      return readNewest(directory, names.sort().reverse(), limit)
    },
    async raw(id) {
      return plainId.test(id) ? unlessGone(readFile(join(directory, `${id}.eml`))) : null
    },
  }
}

async function readNewest(directory: string, names: string[], limit: number): Promise<MailboxMessage[]> {
  const messages: MailboxMessage[] = []
  for (const name of names) {
    if (messages.length >= limit) break
    const json = await unlessGone(readFile(join(directory, name), 'utf8'))
    if (json === null) continue
    // Written by another version of the service when it does not fit.
    const { data } = storedMessage.safeParse(JSON.parse(json))
    if (data) messages.push(data)
  }
  return messages
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
    text: mail.text ?? '',
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

/** The file is there with all of its content or not at all. */
async function writeWhole(directory: string, name: string, content: Buffer | string): Promise<void> {
  const unfinished = join(directory, `.${randomUUID()}${unfinishedSuffix}`)
  try {
    const file = await open(unfinished, 'wx')
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, join(directory, name))
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

/** Makes the names of the files last: without it a power cut can take back a rename. */
async function sync(directory: string): Promise<void> {
  const folder = await open(directory, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Removes all but the newest messages. What another process removes meanwhile is no error. */
async function prune(directory: string, keep: number): Promise<void> {
  const all = await namesIn(directory)
  await removeAbandoned(
    directory,
    all.filter((name) => name.endsWith(unfinishedSuffix)),
  )
  const names = all.filter((name) => !name.endsWith(unfinishedSuffix))
  const ids = [...new Set(names.map(idOf))].sort()
  const outdated = new Set(ids.slice(0, Math.max(0, ids.length - keep)))
  for (const name of names) {
    if (outdated.has(idOf(name))) await rm(join(directory, name), { force: true })
  }
}

/** A crash leaves its unfinished file behind; nothing is written for as long as an hour. */
async function removeAbandoned(directory: string, names: string[]): Promise<void> {
  for (const name of names) {
    const file = join(directory, name)
    const found = await unlessGone(stat(file))
    if (found && Date.now() - found.mtimeMs > 3_600_000) await rm(file, { force: true })
  }
}

function idOf(fileName: string): string {
  return fileName.slice(0, fileName.indexOf('.'))
}

async function namesIn(directory: string): Promise<string[]> {
  return (await unlessGone(readdir(directory))) ?? []
}

async function unlessGone<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
