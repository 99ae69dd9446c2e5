import { domainToASCII } from 'node:url'

/** RFC 5321, 4.5.3.1: 64 octets before the @, 254 for the whole path. */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254

/** RFC 5322 dot-atom; quoted local parts and SMTPUTF8 are refused, hardly any server takes them. */
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const ASCII_DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i

export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

/** The domain in its ASCII form (IDNA), in lower case; an empty string when it is none. */
export function asciiDomain(domain: string): string {
  // URL rules would read these as something else than a part of a name.
  if (/[\s/?#@:%[\]\\]/.test(domain)) return ''
  const ascii = domainToASCII(domain)
  return ASCII_DOMAIN.test(ascii) ? ascii : ''
}

export const isDomain = (text: string): boolean => asciiDomain(text) !== ''

/** Whether the text is one deliverable address: ASCII before the @, a registered kind of domain after it. */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  if (at < 1 || local.length > MAX_LOCAL || text.length > MAX_ADDRESS) return false
  return LOCAL.test(local) && isDomain(domain)
}

/** The sender's or recipient's domain in ASCII form, by which domains are compared. */
export const domainOf = (address: string): string => asciiDomain(address.slice(address.lastIndexOf('@') + 1))
