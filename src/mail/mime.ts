import { createPrivateKey, type KeyObject } from 'node:crypto'
import DKIM, { type DKIMOptions } from 'nodemailer/lib/dkim'
import MailComposer, { type MailComposerAttachment } from 'nodemailer/lib/mail-composer'
import type { SendMailOptions } from 'nodemailer/lib/mailer'
import { headerText, oneLine } from './header-text.ts'
import { isHeaderName, replacesEnvelope } from './headers.rules.ts'
import type { DkimKey, MailAttachment, Mailbox, OutgoingMail } from './mailer.ts'
import { textFromHtml } from './text-part.ts'

/** The message itself is at fault: no provider can ever take it. */
export class UnsendableMail extends Error {
  override name = 'UnsendableMail'
}

/** Headers with a grammar of their own, in which an encoded word would not be read. */
const structured = new Set(['reply-to', 'references', 'in-reply-to'])

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/
const longestName = 500

/** Only what would break out of a header, a command or a URL; what an address is was checked before. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const addressShape = /^[^\x00-\x1f\x7f<>]+@[^\x00-\x20\x7f<>@/\\?#:,;()"]+$/

/** RFC 6376's list and what bulk mail has to sign as well (RFC 8058 for List-Unsubscribe-Post). */
const signedHeaders =
  'From:Reply-To:Subject:Date:Message-ID:To:MIME-Version:Content-Type:Content-Transfer-Encoding:' +
  'In-Reply-To:References:List-Id:List-Help:List-Unsubscribe:List-Unsubscribe-Post:List-Subscribe:' +
  'List-Post:List-Owner:List-Archive:Feedback-ID'

/** The plain text of a message: its own, or made from its HTML. */
export function plainText(mail: OutgoingMail): string {
  return mail.text ?? textFromHtml(mail.html)
}

/**
 * What nodemailer needs to write and sign the message. Throws UnsendableMail for headers and addresses that no
 * message can carry, and an Error when the DKIM key is of no use.
 */
export function mailOptions(mail: OutgoingMail): SendMailOptions {
  const from = mailbox(mail.from)
  const to = mailbox(mail.to)
  return {
    from,
    to,
    replyTo: mail.replyTo === undefined ? undefined : mailbox({ address: mail.replyTo }),
    // Named here, so that no header can ever add a recipient.
    envelope: { from: { address: from.address }, to: { address: to.address } },
    messageId: mail.messageId,
    date: mail.date,
    headers: headers(mail),
    text: lineFeeds(plainText(mail)),
    html: lineFeeds(mail.html),
    attachments: mail.attachments.map(attachment),
    dkim: mail.dkim && signature(mail.dkim),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** The whole message as bytes, signed when it carries a DKIM key. Throws like `mailOptions`. */
export async function composeRaw(mail: OutgoingMail): Promise<Buffer> {
  const { dkim, ...options } = mailOptions(mail)
  const message = new MailComposer({ ...options, newline: 'windows' }).compile()
  if (dkim) message.processFunc((input) => new DKIM(dkim).sign(input))
  return message.build()
}

function mailbox({ address, name = '' }: Mailbox): { name: string; address: string } {
  if (!addressShape.test(address)) {
    throw new UnsendableMail(`${JSON.stringify(address)} is not an email address`)
  }
  const shown = oneLine(name).replace(/\s+/g, ' ').trim()
  return {
    address,
    name: shown.length <= longestName ? shown : `${shown.slice(0, longestName - 1).toWellFormed()}…`,
  }
}

function headers(mail: OutgoingMail) {
  const custom = mail.headers.map(({ name, value }) => {
    if (!isHeaderName(name)) throw new UnsendableMail(`${JSON.stringify(name)} is not a header name`)
    if (replacesEnvelope(name)) throw new UnsendableMail(`The header ${name} cannot be set`)
    return structured.has(name.toLowerCase())
      ? { key: name, value: oneLine(value) }
      : unstructured(name, value)
  })
  return [unstructured('Subject', mail.subject), ...custom]
}

/** Written by us: nodemailer would encode any value with a quotation mark, and lose blanks at the ends. */
function unstructured(key: string, value: string) {
  return { key, value: { value: headerText(value), prepared: true, foldLines: true } }
}

/** A lone CR ends a line for some servers and not for others, which lets a body smuggle a second message in. */
function lineFeeds(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

function attachment(file: MailAttachment): MailComposerAttachment {
  return {
    filename: oneLine(file.filename),
    content: file.content,
    contentType: attachedType(file.contentType),
    contentDisposition: file.disposition,
    cid: file.contentId?.replace(/[\s<>]/g, '') || undefined,
  }
}

/** `message/*` and `multipart/*` parts may not be encoded, so their bytes would not arrive as they are. */
function attachedType(contentType: string): string {
  const type = oneLine(contentType).trim()
  return mediaType.test(type) && !/^(?:message|multipart)\//i.test(type) ? type : 'application/octet-stream'
}

function signature(key: DkimKey): DKIMOptions {
  return {
    domainName: key.domain,
    keySelector: key.selector,
    privateKey: signingKey(key),
    headerFieldNames: signedHeaders,
  }
}

/** Reading a PEM costs as much as a good part of the signature, and a service signs with few keys. */
const readKeys = new Map<string, KeyObject>()
const mostKeys = 1000

/** nodemailer sends a message unsigned when its key is of no use; that must not go unnoticed. */
function signingKey({ domain, privateKey }: DkimKey): KeyObject {
  const known = readKeys.get(privateKey)
  if (known) return known
  const key = readKey(privateKey)
  if (key?.asymmetricKeyType !== 'rsa') throw new Error(`The DKIM key of ${domain} is not an RSA private key`)
  if (readKeys.size >= mostKeys) readKeys.clear()
  readKeys.set(privateKey, key)
  return key
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
