import { domainOf } from '../../messages/email-address.rules.ts'

/**
 * The Message-ID (RFC 5322, 3.6.4) of an email: made from its id, so that every attempt has the same one, and
 * of nothing that tells which project it belongs to.
 */
export const messageIdOf = (emailId: string, from: string): string => `<${emailId}@${domainOf(from)}>`
