import { domainOf } from '../../messages/email-address.rules.ts'

/**
 * The Message-ID (RFC 5322, 3.6.4) of an email. It is derived from the email's id, so that every attempt has
 * the same one, and does not tell which project the email belongs to.
 */
export const messageIdOf = (emailId: string, from: string): string => `<${emailId}@${domainOf(from)}>`
