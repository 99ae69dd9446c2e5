import { createPrivateKey, type KeyObject } from 'node:crypto'
import { Readable } from 'node:stream'
import { domainToASCII } from 'node:url'
import addressparser from 'nodemailer/lib/addressparser/index.js'
import MailComposer, {
  type MailComposerAttachment,
  type MailComposerOptions,
} from 'nodemailer/lib/mail-composer'
import { foldLines } from 'nodemailer/lib/mime-funcs'
import MimeNode from 'nodemailer/lib/mime-node'
import { Pauses } from '../lib/async/pauses.ts'
import { type DkimOptions, dkimSignature } from './dkim.ts'
import { headerText, oneLine, phrase } from './header-text.ts'
import { isHeaderName, isOrder, isOwnHeader } from './headers.rules.ts'
import type { DkimKey, MailAttachment, OutgoingMail } from './mailer.ts'

/** The message itself is at fault: no provider can ever take it. */
export class UnsendableMail extends Error {
  override name = 'UnsendableMail'
}

/** Headers with a grammar of their own, in which an encoded word would not be read. */
const STRUCTURED = new Set(['reply-to', 'references', 'in-reply-to'])

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/
const LONGEST_NAME = 500

/** Matches only what would break out of a header, a command or a URL; addresses were checked before. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const ADDRESS_SHAPE = /^[^\x00-\x1f\x7f<>]+@[^\x00-\x20\x7f<>@/\\?#:,;()"]+$/

/**
 * The list of RFC 6376, and the fields that bulk mail has to sign as well (RFC 8058 for
 * List-Unsubscribe-Post).
 */
const SIGNED_FIELDS = [
  'from',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'to',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'in-reply-to',
  'references',
  'list-id',
  'list-help',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-subscribe',
  'list-post',
  'list-owner',
  'list-archive',
  'feedback-id',
]

/** A message as it leaves, with its envelope: no header can ever add a recipient. */
export type Composed = { from: string; to: string; raw: Buffer }

/**
 * The whole message, signed when it carries a DKIM key. Throws UnsendableMail for headers and addresses that no
 * message can carry, and an Error when the DKIM key is of no use.
 */
export async function composeMessage(mail: OutgoingMail, keys: SigningKeys): Promise<Composed> {
  const key = mail.dkim && signature(mail.dkim, keys)
  const from = asciiAddress(mail.from.address)
  const to = asciiAddress(mail.to.address)
  // Written by us: nodemailer cuts a name that needs several encoded words within words.
  const fromField = addressField('From', from, mail.from.name)
  const toField =
    mail.shownTo === undefined ? addressField('To', to, mail.to.name) : shownField('To', mail.shownTo)
  const ccField = mail.shownCc === undefined ? '' : shownField('Cc', mail.shownCc)
  const entity = mail.attachments.find(({ disposition }) => disposition === 'entity')
  const parts = entity ? { ...mail, html: '', text: '', attachments: [] } : mail
  const { fields, content } = divided(await new MailComposer(options(parts)).compile().build())
  const whole = entity ? divided(entity.content) : { fields: NOTHING, content }
  const own = entity ? withoutContentFields(fields) : fields
  const header = Buffer.concat([Buffer.from(fromField + toField + ccField), own, whole.fields])
  const signed = key ? await dkimSignature(header, whole.content, key) : ''
  return { from, to, raw: Buffer.concat([Buffer.from(signed, 'latin1'), header, CRLF, whole.content]) }
}

const CRLF = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)

/** The header fields of an entity, with the end of the last line, and what follows the empty line. */
function divided(entity: Buffer): { fields: Buffer; content: Buffer } {
  const end = entity.indexOf(EMPTY_LINE) + 2
  return { fields: entity.subarray(0, end), content: entity.subarray(end + 2) }
}

/** Header fields without those that describe a content, which an entity brings along. */
const withoutContentFields = (fields: Buffer): Buffer =>
  Buffer.from(fields.toString('latin1').replace(CONTENT_FIELDS, ''), 'latin1')

const CONTENT_FIELDS = /^content-[^:]*:.*\r\n(?:[ \t].*\r\n)*/gim

const EMPTY_LINE = '\r\n\r\n'

function options(mail: OutgoingMail): MailComposerOptions {
  const { replyTo } = mail
  return {
    replyTo: replyTo === undefined ? undefined : { address: asciiAddress(replyTo), name: '' },
    messageId: mail.messageId,
    date: mail.date,
    headers: headers(mail),
    text: content(mail.text),
    html: content(mail.html),
    alternatives: mail.attachments
      .filter(({ disposition }) => disposition === 'alternative')
      .map(alternative),
    attachments: mail.attachments.filter(({ disposition }) => isBeside(disposition)).map(attachment),
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** What has no other form need not be brought into it, which takes long for a thousand. */
const PLAIN_ADDRESS = /^[\w.-]+@[a-z\d.-]+$/

/**
 * The address as it stands in a header and in the envelope: with the domain in ASCII, quoted where needed.
 */
export function asciiAddress(address: string): string {
  if (PLAIN_ADDRESS.test(address)) return address
  if (!ADDRESS_SHAPE.test(address)) {
    throw new UnsendableMail(`${JSON.stringify(address)} is not an email address`)
  }
  return MimeNode.encodeHeaderValue('Sender', { address, name: '' }).replace(/^<|>$/g, '')
}

function addressField(field: 'From' | 'To', address: string, name = ''): string {
  const shown = oneLine(name).replace(/\s+/g, ' ').trim()
  const cut = shown.length <= LONGEST_NAME ? shown : `${shown.slice(0, LONGEST_NAME - 1).toWellFormed()}…`
  const bare = cut === '' && !address.startsWith('"')
  return `${foldLines(bare ? `${field}: ${address}` : `${field}: ${phrase(cut)} <${address}>`)}\r\n`
}

/** A list of recipients for the reader. Names that are not ASCII are encoded. */
function shownField(field: 'To' | 'Cc', value: string): string {
  const line = oneLine(value)
  if (!/[^\x20-\x7e]/.test(line)) return `${foldLines(`${field}: ${line}`)}\r\n`
  const addresses = addressparser(line, { flatten: true }).map(({ name, address }) =>
    name ? `${phrase(name)} <${asciiAddress(address)}>` : asciiAddress(address),
  )
  return `${foldLines(`${field}: ${addresses.join(', ')}`)}\r\n`
}

/** The custom headers that a message may have. Throws UnsendableMail for others. */
export function customHeaders(mail: OutgoingMail): OutgoingMail['headers'] {
  // Requests with orders are refused; mail that was accepted before they were leaves without them.
  const kept = mail.headers.filter(({ name }) => !isOrder(name))
  for (const { name } of kept) {
    if (!isHeaderName(name)) throw new UnsendableMail(`${JSON.stringify(name)} is not a header name`)
    if (isOwnHeader(name)) throw new UnsendableMail(`The header ${name} cannot be set`)
  }
  return kept
}

function headers(mail: OutgoingMail) {
  const custom = customHeaders(mail).map(({ name, value, asIs }) => {
    if (asIs && !STRUCTURED.has(name.toLowerCase())) return prepared(name, oneLine(value))
    return STRUCTURED.has(name.toLowerCase())
      ? { key: name, value: oneLine(value) }
      : prepared(name, headerText(value))
  })
  return [prepared('Subject', headerText(mail.subject)), ...custom]
}

/** Written by us: nodemailer would encode any value with a quotation mark, and lose blanks at the ends. */
const prepared = (key: string, value: string) => ({ key, value: { value, prepared: true, foldLines: true } })

/**
 * A longer text is encoded in pieces of this many characters: nodemailer would read and encode it in one go.
 */
const LONGEST_PIECE = 64 * 1024

function content(text: string) {
  if (text.length <= LONGEST_PIECE) return lineFeeds(text)
  return { content: Readable.from(inPieces(text)), contentTransferEncoding: encodingOf(text) }
}

/**
 * The shorter encoding, judged by the beginning of the text: quoted-printable takes three characters for each
 * byte that is not ASCII.
 */
function encodingOf(text: string): 'quoted-printable' | 'base64' {
  const beginning = text.slice(0, LONGEST_PIECE)
  return Buffer.byteLength(beginning) < beginning.length * 1.1 ? 'quoted-printable' : 'base64'
}

/** Others have the event loop between pieces. */
async function* inPieces(text: string): AsyncGenerator<string, void> {
  const pauses = new Pauses()
  for (let start = 0; start < text.length; ) {
    let end = start + LONGEST_PIECE
    // CR and LF, and the halves of a character, stay together.
    while (/^(?:\r\n|[\ud800-\udbff][\udc00-\udfff])$/.test(text.slice(end - 1, end + 1))) end += 1
    yield lineFeeds(text.slice(start, end))
    start = end
    await pauses.whenDue()
  }
}

/** A lone CR ends a line for some servers and not for others, which lets a body smuggle a second message in. */
export function lineFeeds(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

const isBeside = (disposition: MailAttachment['disposition']): boolean =>
  disposition === 'attachment' || disposition === 'inline'

const alternative = ({ content, contentType }: MailAttachment) => ({
  content,
  contentType: attachedType(contentType),
})

function attachment(file: MailAttachment): MailComposerAttachment {
  return {
    filename: oneLine(file.filename) || false,
    content: file.content,
    contentType: attachedType(file.contentType),
    contentDisposition: file.disposition === 'inline' ? 'inline' : 'attachment',
    cid: file.contentId?.replace(/[\s<>]/g, '') || undefined,
  }
}

/** `message/*` and `multipart/*` parts may not be encoded, so their bytes would not arrive as they are. */
function attachedType(contentType: string): string {
  const type = oneLine(contentType).trim()
  return MEDIA_TYPE.test(type) && !/^(?:message|multipart)\//i.test(type) ? type : 'application/octet-stream'
}

function signature(key: DkimKey, keys: SigningKeys): DkimOptions {
  const { domain, selector } = key
  return { domain: domainToASCII(domain), selector, privateKey: keys.keyOf(key), fields: SIGNED_FIELDS }
}

/** The keys that a mailer signs with. Reading a PEM costs as much as a good part of a signature, and they are few. */
export class SigningKeys {
  readonly #read = new Map<string, KeyObject>()

  /** Throws when it is no RSA key. */
  keyOf({ domain, privateKey }: DkimKey): KeyObject {
    const known = this.#read.get(privateKey)
    if (known) return known
    const key = readKey(privateKey)
    if (key?.asymmetricKeyType !== 'rsa') {
      throw new Error(`The DKIM key of ${domain} is not an RSA private key`)
    }
    if (this.#read.size >= MOST_KEYS) this.#read.clear()
    this.#read.set(privateKey, key)
    return key
  }
}

const MOST_KEYS = 1000

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
