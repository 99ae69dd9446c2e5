import type { DnsRecord } from '../dns-records.rules.ts'
import type { Verdict } from '../verification.rules.ts'

/** What a provider says of a domain: the records that it asks for, and whether it has found them. */
export type ProviderView = { records: DnsRecord[]; verdict: Verdict }

/** A provider that verifies domains itself, and signs mail with keys of its own. */
export type DomainProvider = {
  /** Has the provider look at the DNS of the domain now; adds it to the account first where it is not there. Throws. */
  look: (domain: string) => Promise<ProviderView>
}
