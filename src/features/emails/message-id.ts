import { domainOf } from '../../lib/email-address.ts'

/**
 * The Message-ID (RFC 5322, 3.6.4) of an email: made from its id, so that every attempt has the same one, with
 * the project's id, so that a provider's notification finds the row.
 */
export const messageIdOf = (projectId: string, emailId: string, from: string): string =>
  `<${emailId}.${projectId}@${domainOf(from)}>`
