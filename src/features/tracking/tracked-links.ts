import type { Config } from '../../config.ts'
import { ID_BYTES, idBytes, idText } from '../../lib/ids.ts'
import { isSigned, sign } from '../../lib/secrets.ts'
import { escapeHtml } from '../../lib/text/html.ts'

/** The message that a pixel or a link is in. */
export type TrackedMail = {
  projectId: string
  emailId: string
  /** How many of its links are tracked; more than MAX_COUNT count as so many. */
  links: number
}

const MAX_COUNT = 255
const MAIL_BYTES = 2 * ID_BYTES + 1
const SIGNATURE_BYTES = 16
const TOKEN_CHARACTERS = Math.ceil(((MAIL_BYTES + SIGNATURE_BYTES) * 4) / 3)

const mailBytes = ({ projectId, emailId, links }: TrackedMail): Buffer =>
  Buffer.concat([idBytes(projectId), idBytes(emailId), Buffer.of(Math.min(links, MAX_COUNT))])

/**
 * What names a message, and where one of its links leads (nothing for the pixel), and cannot be made by anyone else. The
 * message has a fixed length, so nothing else gives the same bytes to sign.
 */
const tokenOf = (config: Config, mail: Buffer, target: string): string =>
  Buffer.concat([
    mail,
    sign(config.linkKeys.tracked[0], Buffer.concat([mail, Buffer.from(target)]), SIGNATURE_BYTES),
  ]).toString('base64url')

/** Where links of a message lead instead of to their targets. They can stand in HTML as they are. */
export function clickUrls(config: Config, mail: TrackedMail, targets: string[]): string[] {
  const bytes = mailBytes(mail)
  return targets.map((target) => {
    // Apostrophes could end an attribute.
    const encoded = encodeURIComponent(target).replaceAll("'", '%27')
    return `${clicksAt(config)}${tokenOf(config, bytes, target)}?u=${encoded}`
  })
}

/** An image that tells when a message is opened. */
export const openPixel = (config: Config, mail: TrackedMail): string =>
  `${pixelStart(config)}${tokenOf(config, mailBytes(mail), '')}${PIXEL_END}`

/** Where the service is. */
export type ServiceAddress = Pick<Config, 'apiUrl'>

const clicksAt = ({ apiUrl }: ServiceAddress) => `${apiUrl}/t/c/`
const pixelStart = ({ apiUrl }: ServiceAddress) => `<img src="${apiUrl}/t/o/`
const PIXEL_END = '.gif" alt="" width="1" height="1" style="display:block;width:1px;height:1px;border:0">'

/** Null when the token was not made here for this target, or, with none, for a pixel. */
export function readToken(config: Config, token: string, target: string): TrackedMail | null {
  const bytes = Buffer.from(token, 'base64url')
  // Decoding is lenient: it skips what is not base64url, and the last character has bits to spare.
  if (bytes.length !== MAIL_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return null
  const mail = bytes.subarray(0, MAIL_BYTES)
  const signed = Buffer.concat([mail, Buffer.from(target)])
  if (!isSigned(config.linkKeys.tracked, signed, bytes.subarray(MAIL_BYTES))) return null
  return {
    projectId: idText(mail.subarray(0, ID_BYTES)),
    emailId: idText(mail.subarray(ID_BYTES, 2 * ID_BYTES)),
    links: mail[2 * ID_BYTES] ?? 0,
  }
}

const TRACKED = new RegExp(`^[\\w-]{${TOKEN_CHARACTERS}}\\?(u=[^"'<>\\s]+)`)

/** HTML of a message as it would be without tracking: what its text part is made from. */
export function withoutTracking(config: ServiceAddress, html: string): string {
  const [before = '', ...links] = withoutPixel(config, html).split(clicksAt(config))
  const untracked = links.map((text) => {
    const [whole = '', query] = TRACKED.exec(text) ?? []
    const target = new URLSearchParams(query).get('u')
    return target === null ? clicksAt(config) + text : escapeHtml(target) + text.slice(whole.length)
  })
  return before + untracked.join('')
}

function withoutPixel(config: ServiceAddress, html: string): string {
  const start = html.lastIndexOf(pixelStart(config))
  const end = start + pixelStart(config).length + TOKEN_CHARACTERS
  if (start === -1 || !html.startsWith(PIXEL_END, end)) return html
  return html.slice(0, start) + html.slice(end + PIXEL_END.length)
}
