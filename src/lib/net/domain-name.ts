import { domainToASCII } from 'node:url'

const MAX_DOMAIN = 253
const ASCII_DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i

/** The domain in its ASCII form (IDNA), in lower case; an empty string when it is none. */
export function asciiDomain(domain: string): string {
  // URL rules would read these as something else than a part of a name.
  if (domain.length > MAX_DOMAIN || /[\s/?#@:%[\]\\]/.test(domain)) return ''
  const ascii = domainToASCII(domain)
  return ASCII_DOMAIN.test(ascii) ? ascii : ''
}

export const isDomain = (text: string): boolean => asciiDomain(text) !== ''
