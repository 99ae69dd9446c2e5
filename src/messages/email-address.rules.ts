import { domainToUnicode } from 'node:url'
import { asciiDomain } from '../lib/net/domain-name.ts'

/** RFC 5321, 4.5.3.1: 64 octets before the @, 254 for the whole path. */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254

/** RFC 5322 dot-atom; quoted local parts and SMTPUTF8 are refused, hardly any server takes them. */
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i

/**
 * Trimmed, in lower case, and an international domain in its Unicode form: addresses that reach the same
 * mailbox must not be two contacts.
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
