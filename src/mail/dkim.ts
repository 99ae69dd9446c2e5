import { createHash, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { Pauses } from '../lib/async/pauses.ts'

/** In a thread of Node's pool: it is the costliest part of a message, and the event loop has others to serve. */
const signBeside = promisify(sign)

export type DkimOptions = {
  /** Domain in ASCII. */
  domain: string
  selector: string
  privateKey: KeyObject
  /** Names in lower case. */
  fields: readonly string[]
}

/**
 * Returns the DKIM-Signature field (RFC 6376), with its line end, for a message whose lines end with CRLF. It
 * names `From` once more than the message has it, so that a message to which someone adds a second one no
 * longer verifies.
 */
export async function dkimSignature(header: Buffer, body: Buffer, options: DkimOptions): Promise<string> {
  const fields = fieldsOf(header.toString('latin1'))
  const present = options.fields.filter((name) => fields.has(name))
  const field =
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${options.domain};\r\n` +
    ` q=dns/txt; s=${options.selector};\r\n bh=${await bodyHash(body)};\r\n` +
    ` h=${folded(['from', ...present].join(':'))};\r\n b=`
  const covered = [...present.map((name) => fields.get(name)), relaxedField(field)].join('\r\n')
  const signature = await signBeside('rsa-sha256', Buffer.from(covered, 'latin1'), options.privateKey)
  return `${field}${signature.toString('base64').replace(/.{72}(?=.)/g, '$&\r\n  ')}\r\n`
}

const folded = (names: string): string => names.replace(/.{1,66}:(?=.{20})/g, '$&\r\n  ')

/** By name in lower case, in the relaxed form; the last one where there are more (RFC 6376, 5.4.2). */
function fieldsOf(header: string): Map<string, string> {
  const fields = header.trimEnd().split(/\r\n(?![ \t])/)
  return new Map(
    fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), relaxedField(field)]),
  )
}

/** RFC 6376, 3.4.2. */
function relaxedField(field: string): string {
  const colon = field.indexOf(':')
  const value = field
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '')
  return `${field.slice(0, colon).toLowerCase()}:${value}`
}

/** Bytes that are hashed at a time; others have the event loop in between. */
const PIECE = 256 * 1024

/** RFC 6376, 3.4.4: blanks as one, none at the end of a line, no empty lines at the end. */
async function bodyHash(body: Buffer): Promise<string> {
  const hash = createHash('sha256')
  const pauses = new Pauses()
  // Line ends are held back until a line follows that is not empty.
  let heldBack = 0
  let isEmpty = true
  for (let start = 0; start < body.length; ) {
    const lineEnd = body.indexOf('\r\n', start + PIECE)
    const end = lineEnd === -1 ? body.length : lineEnd + 2
    const { text, lineEnds } = relaxedLines(body.subarray(start, end))
    if (text !== '') {
      hash.update('\r\n'.repeat(heldBack) + text, 'latin1')
      heldBack = 0
      isEmpty = false
    }
    heldBack += lineEnds
    start = end
    await pauses.whenDue()
  }
  return hash.update(isEmpty ? '' : '\r\n').digest('base64')
}

/** The whole lines, without empty ones at the end, and the number of line ends there. */
function relaxedLines(lines: Buffer): { text: string; lineEnds: number } {
  const text = lines
    .toString('latin1')
    .replace(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n')
  let end = text.length
  while (text.endsWith('\r\n', end)) end -= 2
  return { text: text.slice(0, end), lineEnds: (text.length - end) / 2 }
}
