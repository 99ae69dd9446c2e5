import type { Config } from '../../../config.ts'
import type { DomainProvider } from './domain-provider.ts'
import { mailgunDomains } from './mailgun-domains.ts'
import { sesDomains } from './ses-domains.ts'

/** Null where we sign ourselves and look at the DNS ourselves. */
export function domainProvider({ mail }: Config): DomainProvider | null {
  if (mail.provider === 'mailgun') return mailgunDomains(mail)
  return mail.provider === 'ses' ? sesDomains(mail) : null
}
