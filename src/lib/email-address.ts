import { domainToASCII, domainToUnicode } from 'node:url'

/** RFC 5321, 4.5.3.1: 64 octets before the @, 254 for the whole path. */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
const MAX_DOMAIN = 253

/** RFC 5322 dot-atom; quoted local parts and SMTPUTF8 are refused, hardly any server takes them. */
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const ASCII_DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i

/**
 * Trimmed, in lower case, and an international domain in the one form in which it is shown: addresses that
 * reach the same mailbox must not be two contacts.
 */
export function normalizeEmail(text: string): string {
  const email = text.trim().toLowerCase()
  const at = email.lastIndexOf('@') + 1
  const domain = email.slice(at)
  if (PLAIN_DOMAIN.test(domain)) return email
  const shown = domainToUnicode(asciiDomain(domain)).toLowerCase()
  return shown === '' ? email : `${email.slice(0, at)}${shown}`
}

/** ASCII without a label that stands for an international one. */
const PLAIN_DOMAIN = /^(?!.*xn--)[\x20-\x7e]*$/

/** The domain in its ASCII form (IDNA), in lower case; an empty string when it is none. */
export function asciiDomain(domain: string): string {
  // URL rules would read these as something else than a part of a name.
  if (domain.length > MAX_DOMAIN || /[\s/?#@:%[\]\\]/.test(domain)) return ''
  const ascii = domainToASCII(domain)
  return ASCII_DOMAIN.test(ascii) ? ascii : ''
}

export const isDomain = (text: string): boolean => asciiDomain(text) !== ''

/** Whether the text is one deliverable address: ASCII before the @, a registered kind of domain after it. */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  if (at < 1 || local.length > MAX_LOCAL || !LOCAL.test(local)) return false
  const domain = asciiDomain(text.slice(at + 1))
  return domain !== '' && at + 1 + domain.length <= MAX_ADDRESS
}

/** The sender's or recipient's domain in ASCII form, by which domains are compared. */
export const domainOf = (address: string): string => asciiDomain(address.slice(address.lastIndexOf('@') + 1))

/** The address as it stands in an envelope, where a domain is ASCII. */
export const withAsciiDomain = (address: string): string =>
  `${address.slice(0, address.lastIndexOf('@'))}@${domainOf(address)}`
