import { mailboxProviderOf } from '../../../changes/mailbox-providers.ts'
import { domainOf } from '../../../messages/email-address.rules.ts'

export type Addresses = { from: string; toEmail: string }

/** Where mail to an address goes: "gmail", "outlook", "yahoo" or "apple" with all their domains, or the domain itself. */
export const destinationOf = (toEmail: string): string =>
  mailboxProviderOf(toEmail)?.toLowerCase() ?? domainOf(toEmail)

/** Names a sender domain together with a destination: what receivers judge, and one project owns. */
export const wayOf = ({ from, toEmail }: Addresses): string => `${domainOf(from)} ${destinationOf(toEmail)}`
