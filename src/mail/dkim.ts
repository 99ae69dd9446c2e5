import { createHash, type KeyObject, sign } from 'node:crypto'

export type DkimOptions = {
  /** In ASCII. */
  domain: string
  selector: string
  privateKey: KeyObject
  /** In lower case. */
  fields: readonly string[]
}

/**
 * The DKIM-Signature field (RFC 6376), with its line end, for a message whose lines end with CRLF. `From` is
 * named once more than it is there, so that a message to which somebody adds a second one no longer verifies.
 */
export function dkimSignature(header: Buffer, body: Buffer, options: DkimOptions): string {
  const fields = fieldsOf(header.toString('latin1'))
  const present = options.fields.filter((name) => fields.has(name))
  const bodyHash = createHash('sha256').update(relaxedBody(body), 'latin1')
  const field =
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${options.domain};\r\n` +
    ` q=dns/txt; s=${options.selector};\r\n bh=${bodyHash.digest('base64')};\r\n` +
    ` h=${folded(['from', ...present].join(':'))};\r\n b=`
  const covered = [...present.map((name) => fields.get(name)), relaxedField(field)].join('\r\n')
  const signature = sign('rsa-sha256', Buffer.from(covered, 'latin1'), options.privateKey)
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

/** RFC 6376, 3.4.4: blanks as one, none at the end of a line, no empty lines at the end. */
function relaxedBody(body: Buffer): string {
  const text = body
    .toString('latin1')
    .replace(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n')
  let end = text.length
  while (text.endsWith('\r\n', end)) end -= 2
  return end === 0 ? '' : `${text.slice(0, end)}\r\n`
}
