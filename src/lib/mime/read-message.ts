import { Readable } from 'node:stream'
import {
  type AddressObject,
  type AttachmentStream,
  type HeaderLines,
  type HeaderValue,
  MailParser,
} from 'mailparser'
import { storableText } from '../text/storable.ts'

/** The message breaks a limit, or is none; the text is for its sender. */
export class UnreadableMessage extends Error {
  override name = 'UnreadableMessage'
}

export type MessageAddress = { address: string; name: string }

/** A header field as it came: `value` unfolded, still encoded. */
export type HeaderField = { name: string; value: string }

/** A part that is not the text. An `alternative` is another form of the text, such as an invitation (text/calendar). */
export type MessageFile = {
  /** Empty when it has none. */
  filename: string
  /** With its parameters. */
  contentType: string
  disposition: 'attachment' | 'inline' | 'alternative'
  contentId: string | null
  content: Buffer
}

/** What a message says (RFC 5322, RFC 2045), decoded. */
export type ReadMessage = {
  headers: HeaderField[]
  from: MessageAddress[]
  to: MessageAddress[]
  cc: MessageAddress[]
  replyTo: MessageAddress[]
  subject: string
  /** With angle brackets; null without one. */
  messageId: string | null
  /** Message-IDs that In-Reply-To and References name, the nearest first. */
  answers: string[]
  /** Media type of the whole, in lower case, and the parameter report-type of a multipart/report (RFC 6522). */
  contentType: string
  reportType: string | null
  /** Null without such a part. */
  text: string | null
  html: string | null
  files: MessageFile[]
}

/** Bytes of the header of a message or a part; some hundred addresses and signatures fit. */
const MAX_HEADER_BYTES = 64 * 1024
const MAX_HEADERS = 300
/** Parts of a message, which bounds their depth as well. */
const MAX_PARTS = 200
/** A message that went through so many servers runs in a circle (RFC 5321, 6.3). */
const MAX_HOPS = 50

/** Reads a message with bounded work. Throws UnreadableMessage. */
export async function readMessage(raw: Buffer): Promise<ReadMessage> {
  assertHeaderSize(raw)
  const parser = new MailParser({
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
    keepDeliveryStatus: true,
    ignoreEmbedded: true,
    checksumAlgo: false,
    maxHeadSize: MAX_HEADER_BYTES,
    maxChildNodes: MAX_PARTS,
  })
  Readable.from(piecesOf(raw)).pipe(parser)
  const files: MessageFile[] = []
  try {
    for await (const part of parser) if (part.type === 'attachment') files.push(await fileOf(part))
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it is malformed'
    throw new UnreadableMessage(`The message cannot be read: ${reason}`)
  }
  const html = textOf(parser.html)
  // The parser adds an empty text to HTML that has none.
  const text = html === null || parser.text !== '' ? textOf(parser.text) : null
  return { ...headOf(parser), text, html, files }
}

const textOf = (text: string | false): string | null => (text === false ? null : storableText(text))

const EMPTY_LINE = /\r?\n\r?\n/

function assertHeaderSize(raw: Buffer): void {
  const beginning = raw.toString('latin1', 0, MAX_HEADER_BYTES + 4)
  if (raw.length > MAX_HEADER_BYTES && !EMPTY_LINE.test(beginning)) {
    throw new UnreadableMessage(`The header of the message is larger than ${MAX_HEADER_BYTES / 1024} KB.`)
  }
}

const PIECE_BYTES = 64 * 1024

function* piecesOf(raw: Buffer): Generator<Buffer> {
  for (let start = 0; start < raw.length; start += PIECE_BYTES) yield raw.subarray(start, start + PIECE_BYTES)
}

async function fileOf(part: AttachmentStream): Promise<MessageFile> {
  const chunks: Buffer[] = []
  for await (const chunk of part.content) chunks.push(chunk)
  part.release?.()
  const { contentDisposition, cid } = part
  const isText = /^text\//i.test(part.contentType)
  const isAlternative = isText && !contentDisposition && !part.filename && !cid
  const given =
    contentDisposition === 'inline' || (!contentDisposition && part.related) ? 'inline' : 'attachment'
  return {
    filename: storableText(part.filename ?? '').slice(0, 255),
    contentType: typeOf(part),
    disposition: isAlternative ? 'alternative' : given,
    contentId: cid ? storableText(cid).slice(0, 255) : null,
    content: Buffer.concat(chunks),
  }
}

/** A field with parameters, as the parser leaves it. */
function structured(field: HeaderValue | undefined): { value: string; params: Record<string, string> } {
  const isStructured = typeof field === 'object' && 'value' in field && 'params' in field
  return isStructured && typeof field.value === 'string'
    ? { value: field.value, params: Object.fromEntries(Object.entries(field.params)) }
    : { value: 'text/plain', params: {} }
}

const TOKEN = /^[\w!#$%&'*+.^`{|}~-]+$/

/** The media type with its parameters, but for those that say how it stands in its message. */
function typeOf({ contentType, headers }: AttachmentStream): string {
  const kept = Object.entries(structured(headers.get('content-type')).params)
    .filter(
      ([name, value]) => TOKEN.test(name) && !/^(name|boundary)$/i.test(name) && !/[\r\n"\\]/.test(value),
    )
    .map(([name, value]) => `; ${name}=${TOKEN.test(value) ? value : `"${value}"`}`)
  const type = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(contentType) ? contentType : 'application/octet-stream'
  return storableText(`${type}${kept.join('')}`)
}

function headOf(parser: MailParser): Omit<ReadMessage, 'text' | 'html' | 'files'> {
  const headers = fieldsOf(parser.headerLines)
  if (headers.filter(({ name }) => /^received$/i.test(name)).length > MAX_HOPS) {
    throw new UnreadableMessage(
      `The message went through more than ${MAX_HOPS} servers: it runs in a circle.`,
    )
  }
  const type = parser.headers === false ? undefined : parser.headers.get('content-type')
  const { value, params } = structured(type)
  return {
    headers,
    from: addressesIn(parser.from),
    to: addressesIn(parser.to),
    cc: addressesIn(parser.cc),
    replyTo: addressesIn(parser.replyTo),
    subject: storableText(parser.subject ?? ''),
    messageId: parser.messageId ?? null,
    answers: [...idsIn(parser.inReplyTo), ...[parser.references ?? []].flat().flatMap(idsIn).toReversed()],
    contentType: value.toLowerCase(),
    reportType: params['report-type']?.toLowerCase() ?? null,
  }
}

function fieldsOf(lines: HeaderLines | false): HeaderField[] {
  const all = lines || []
  if (all.length > MAX_HEADERS) {
    throw new UnreadableMessage(`The message has more than ${MAX_HEADERS} header fields.`)
  }
  return all.map(({ line }) => {
    const unfolded = Buffer.from(line, 'binary').toString().replace(/\r?\n/g, '')
    const colon = unfolded.indexOf(':')
    return { name: unfolded.slice(0, colon).trim(), value: storableText(unfolded.slice(colon + 1)).trim() }
  })
}

const addressesIn = (found: AddressObject | AddressObject[] | undefined): MessageAddress[] =>
  [found ?? []]
    .flat()
    .flatMap(({ value }) => value)
    .flatMap((one) => one.group ?? [one])
    .flatMap(({ address, name }) => (address ? [{ address, name: storableText(name) }] : []))

const idsIn = (text: string | undefined): string[] => text?.match(/<[^<>\s]+>/g) ?? []
