import { createHash } from 'node:crypto'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, forProject, projectIdOf } from '../../ctx.ts'
import { sqlState } from '../../db/sql.ts'
import { serviceUnavailable } from '../../errors.ts'
import { retried } from '../../lib/async/retried.ts'
import { isId, newId } from '../../lib/ids.ts'
import type { ReadMessage } from '../../lib/mime/read-message.ts'
import { cutText } from '../../lib/text/cut-text.ts'
import { domainOf, isEmailAddress, normalizeEmail } from '../../messages/email-address.rules.ts'
import { MAX_SUBJECT } from '../../messages/subject.rules.ts'
import { keepsMail } from '../domains/sender.ts'
import { takeReport } from '../notifications/report-mail.ts'
import { isAutomatic } from './automatic.rules.ts'
import { receivingProjects, storeInbound } from './inbound.sql.ts'

/** A message that came in, and its envelope. Its bytes are taken over (see `MessageReader`). */
export type InboundMail = { raw: Buffer; sender: string; recipients: string[] }

/** The abort_statement function of the migrations raises it. */
const ABORTED = 'MW001'

const MAX_NAME = 255
const MAX_MESSAGE_ID = 998
/** Characters of the text in the event; all of it is in the email. */
const MAX_EVENT_TEXT = 16_000
const MAX_TEXT = 1_000_000
const MAX_FILES = 100
const MAX_ANSWERED = 50

/** Which of the addresses receive mail here, and for which projects. */
export async function receivers(ctx: Ctx, addresses: string[]): Promise<Map<string, string>> {
  const domains = [...new Set(addresses.map(domainOf))]
  const rows = await ctx.sql(receivingProjects, { domains, keepsMail: keepsMail(ctx.config) })
  const projects = new Map(rows.map(({ domain, projectId }) => [domain, projectId]))
  return new Map(
    addresses.flatMap((address) => {
      const projectId = projects.get(domainOf(address))
      return projectId === undefined ? [] : [[address, projectId] as const]
    }),
  )
}

/**
 * Keeps a message for each of its recipients in a verified domain: as an email of its sender, who becomes a contact but is
 * not subscribed, with the event `email.received` when a person wrote it. A repeat changes nothing. Returns for how many
 * recipients it was kept. Throws UnreadableMessage, SERVICE_UNAVAILABLE, and BILLING_LIMIT_EXCEEDED when a project may not
 * receive more this month.
 */
export async function receiveMail(ctx: Ctx, given: InboundMail): Promise<number> {
  const found = await receivers(ctx, given.recipients.map(normalizeEmail))
  if (found.size === 0) return 0
  const { message, raw } = await ctx.services.messageReader.read(given.raw)
  const mail = { ...given, raw }
  const sender = normalizeEmail(message.from[0]?.address ?? mail.sender)
  let kept = 0
  for (const [recipient, projectId] of found) {
    const own = forProject(ctx, projectId)
    if (await isReport(own, message, mail, recipient)) kept += 1
    else if (isEmailAddress(sender) && (await keep(own, message, mail, { sender, recipient }))) kept += 1
  }
  return kept
}

async function isReport(
  ctx: Ctx,
  { contentType, reportType }: ReadMessage,
  { raw }: InboundMail,
  recipient: string,
): Promise<boolean> {
  if (contentType !== 'multipart/report') return false
  if (reportType !== 'delivery-status' && reportType !== 'feedback-report') return false
  return takeReport(ctx, { kind: reportType, raw, projectId: projectIdOf(ctx), recipient })
}

type Between = { sender: string; recipient: string }

async function keep(ctx: Ctx, message: ReadMessage, mail: InboundMail, between: Between): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  const { html, text } = await contentOf(ctx, message)
  const { mailPermits } = ctx.services
  const stored = await retried(async () => {
    const now = ctx.now()
    const permit = [projectId, 'INBOUND', 1, now] as const
    await mailPermits?.take(...permit)
    let isKept = false
    const { sender, recipient } = between
    const emailId = newId(now)
    const named = message.to.find(({ address }) => normalizeEmail(address) === recipient)
    const head = {
      subject: cutText(message.subject, MAX_SUBJECT),
      messageId: cutText(message.messageId ?? `<${emailId}@unknown>`, MAX_MESSAGE_ID),
    }
    const files = filesOf(message)
    const event = { emailId, ...head, from: sender, to: recipient, sourceType: 'INBOUND', ...NO_SOURCE }
    try {
      const [row] = await ctx.sql(mailPermits ? storeInbound.billed : storeInbound.free, {
        ...head,
        ...between,
        projectId,
        key: keyOf(message, mail, between),
        now,
        newContactId: newId(now),
        emailId,
        eventId: newId(now),
        senderName: nameOf(message.from[0]?.name),
        recipientName: nameOf(named?.name),
        replyTo: message.replyTo[0] ? normalizeEmail(message.replyTo[0].address) : null,
        html: html ?? '',
        text,
        headers: '[]',
        files: JSON.stringify(files),
        answers: answeredIds(message),
        eventData: isAutomatic(message, mail.sender)
          ? null
          : JSON.stringify({ ...event, body: cutText(text, MAX_EVENT_TEXT), attachments: files }),
      })
      if (row) wakeFollowers(ctx, [row])
      isKept = row?.isNew ?? false
      return row
    } catch (error) {
      if (sqlState(error) === ABORTED) return undefined
      throw error
    } finally {
      if (!isKept) await mailPermits?.giveBack(...permit)
    }
  })
  if (!stored) throw serviceUnavailable()
  return stored.isNew
}

const NO_SOURCE = { templateId: null, campaignId: null }

const nameOf = (name: string | undefined): string | null => (name ? cutText(name, MAX_NAME) : null)

/** The HTML that may be shown, and the text, which is made from it when there is none. */
async function contentOf(
  ctx: Ctx,
  { html, text }: ReadMessage,
): Promise<{ html: string | null; text: string }> {
  const { rendering } = ctx.services
  const projectId = projectIdOf(ctx)
  const clean = html === null ? null : await rendering.cleanHtmlOf(html, projectId)
  const plain = text ?? (html === null ? '' : await rendering.textOfMail(html, projectId))
  return { html: clean, text: cutText(plain, MAX_TEXT) }
}

const filesOf = ({ files }: ReadMessage) =>
  files.slice(0, MAX_FILES).map(({ filename, contentType, content }) => ({
    filename,
    contentType: cutText(contentType, MAX_NAME),
    size: content.length,
  }))

/** No Idempotency-Key of a caller begins like this: those are printable. */
function keyOf({ messageId, from, subject }: ReadMessage, { raw }: InboundMail, between: Between): string {
  const identity = messageId === null ? [raw] : [messageId, JSON.stringify([from, subject])]
  const digest = createHash('sha256').update(JSON.stringify(between))
  for (const part of identity) digest.update(part)
  return `\u0001inbound ${digest.digest('base64')}`
}

/** The ids of emails in the Message-IDs that the message names (see `messageIdOf`). */
const answeredIds = ({ answers }: ReadMessage): string[] =>
  answers
    .flatMap((answer) => {
      const id = answer.slice(1, answer.indexOf('@')).toLowerCase()
      return isId(id) ? [id] : []
    })
    .slice(0, MAX_ANSWERED)
