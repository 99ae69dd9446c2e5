import { createHash } from 'node:crypto'
import { checkInput } from '../../admission/check-input.ts'
import { underKey } from '../../admission/idempotency.ts'
import type { Ctx } from '../../ctx.ts'
import type { HeaderField, MessageAddress, ReadMessage } from '../../lib/mime/read-message.ts'
import { cutText } from '../../lib/text/cut-text.ts'
import { isHeaderName, isReservedHeader } from '../../mail/headers.rules.ts'
import type { MailHeader } from '../../mail/mailer.ts'
import { isEmailAddress, normalizeEmail } from '../../messages/email-address.rules.ts'
import type { AttachmentFile } from './attachments.ts'
import { type FinishedMessage, sendFinished } from './send.ts'
import type { SendResult } from './store-send.ts'
import { submissionInput } from './submission.input.ts'

/** A message as a mail program hands it in (RFC 6409). */
export type Submission = {
  /** Of the envelope; empty for none. */
  sender: string
  /** Of the envelope: who gets it, whatever its header says. */
  recipients: string[]
  message: ReadMessage
  raw: Buffer
}

export const IDEMPOTENCY_HEADER = 'X-Idempotency-Key'
const REQUEST = 'SMTP submission'
const MAX_NAME = 255

/**
 * Sends a submitted message as POST /v1/send would, but exactly as it came. With the header X-Idempotency-Key a repeat is
 * accepted without being sent again, and has the first answer. Throws as `sendEmail` does, and IDEMPOTENCY_KEY_REUSED.
 */
export async function submitMessage(ctx: Ctx, submission: Submission): Promise<SendResult> {
  const finished = finishedMessage(submission)
  const key = headerOf(submission.message, IDEMPOTENCY_HEADER)
  if (key === undefined) return sendFinished(ctx, finished)
  const { input, text, files } = finished
  const content = { input, text, files: files.map(fingerprint) }
  const { data } = await underKey(
    ctx,
    { key, replay: true, request: REQUEST },
    async () => ({ input: content }),
    (_args, held) => sendFinished(held, finished),
  )
  return data as SendResult
}

const fingerprint = ({ content, ...file }: AttachmentFile) => ({
  ...file,
  content: createHash('sha256').update(content).digest('base64'),
})

const headerOf = ({ headers }: ReadMessage, wanted: string): string | undefined =>
  headers.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())?.value

function finishedMessage({ sender, recipients, message, raw }: Submission): FinishedMessage {
  const { subject, html, text } = message
  const names = new Map(
    [...message.to, ...message.cc].map(({ address, name }) => [normalizeEmail(address), name]),
  )
  const [author] = message.from
  const checked = checkInput(submissionInput, {
    to: recipients.map((email) => ({ email, name: shortName(names.get(normalizeEmail(email))) })),
    from: author
      ? { email: author.address, name: shortName(author.name) }
      : { email: headerOf(message, 'From') ?? sender },
    subject,
  })
  const reply = plainReply(message)
  return {
    input: { ...checked, body: html ?? '', reply },
    // A message without HTML has its text alone, be it empty.
    text: text ?? (html === null ? '' : null),
    headers: keptHeaders(message, recipients, reply !== undefined),
    files: isUsual(message) ? message.files : [entityOf(message, raw)],
  }
}

const shortName = (name: string | undefined) => (name ? cutText(name, MAX_NAME) : undefined)

/** The reply-to address as a request gives it; several, or one with a name, stay a header. */
function plainReply({ replyTo }: ReadMessage): string | undefined {
  const [first, ...others] = replyTo
  if (first?.name !== '' || others.length > 0) return undefined
  const email = normalizeEmail(first.address)
  return isEmailAddress(email) ? email : undefined
}

/** Headers that the service writes itself, from other parts of the message. */
const WRITTEN = /^(?:mime-version|x-idempotency-key|x-original-message-id)$/i

function keptHeaders(message: ReadMessage, recipients: string[], writesReply: boolean): MailHeader[] {
  const kept = message.headers.filter(
    ({ name }) =>
      isHeaderName(name) &&
      !isReservedHeader(name) &&
      !WRITTEN.test(name) &&
      !(writesReply && /^reply-to$/i.test(name)),
  )
  const { messageId } = message
  const original = messageId === null ? [] : [{ name: 'X-Original-Message-ID', value: messageId }]
  return [...shownRecipients(message, recipients), ...[...kept, ...original].map(header)]
}

const header = ({ name, value }: HeaderField): MailHeader =>
  /^[\x20-\x7e\t]*$/.test(value) ? { name, value, asIs: true } : { name, value }

/** To and Cc as they came, unless To says no more than what each message says by itself. */
function shownRecipients({ headers, to, cc }: ReadMessage, recipients: string[]): MailHeader[] {
  const isPlain = cc.length === 0 && recipients.length === 1 && to.length === 1
  if (isPlain && isSame(to[0], recipients[0])) return []
  return (['To', 'Cc'] as const).flatMap((field) => {
    const values = headers.filter(({ name }) => name.toLowerCase() === field.toLowerCase())
    const value = values.map((one) => one.value).join(', ')
    if (value !== '') return [{ name: field, value }]
    // A message to undisclosed recipients tells none of them.
    return field === 'To' && cc.length === 0 && to.length === 0 && recipients.length > 1
      ? [{ name: field, value: 'undisclosed-recipients:;' }]
      : []
  })
}

const isSame = (shown: MessageAddress | undefined, recipient: string | undefined): boolean =>
  shown !== undefined &&
  recipient !== undefined &&
  normalizeEmail(shown.address) === normalizeEmail(recipient)

/** Kinds of content that HTML, text and files make up again; the parts of others, such as signed ones, belong together. */
const isUsual = ({ contentType }: ReadMessage): boolean =>
  !/^(?:multipart\/(?!(?:mixed|alternative|related)$)|message\/)/.test(contentType)

/** The content of a message whose parts belong together, such as a signed or an encrypted one: it travels as it came. */
function entityOf({ contentType }: ReadMessage, raw: Buffer): AttachmentFile {
  const lines = inWireLines(raw)
  const end = lines.indexOf('\r\n\r\n')
  const head = lines.toString('latin1', 0, end === -1 ? lines.length : end + 2)
  const fields = head.match(/^content-[^:\r\n]*:.*\r\n(?:[ \t].*\r\n)*/gim) ?? []
  const body = end === -1 ? [] : [lines.subarray(end + 4)]
  return {
    filename: '',
    contentType,
    disposition: 'entity',
    contentId: null,
    content: Buffer.concat([Buffer.from(`${fields.join('')}\r\n`, 'latin1'), ...body]),
  }
}

/** Lines that end in CRLF, as RFC 5322, 2.3, has it. Nearly all messages come so, and a large one is copied for a while. */
function inWireLines(raw: Buffer): Buffer {
  const text = raw.toString('latin1')
  return /(?<!\r)\n|\r(?!\n)/.test(text) ? Buffer.from(text.replace(/\r\n|\r|\n/g, '\r\n'), 'latin1') : raw
}
