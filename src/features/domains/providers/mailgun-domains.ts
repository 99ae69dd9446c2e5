import Mailgun from 'mailgun.js'
import type { DNSRecord, TDomain } from 'mailgun.js/definitions'
import type { DnsRecord } from '../dns-records.rules.ts'
import type { Verdict } from '../verification.rules.ts'
import type { DomainProvider } from './domain-provider.ts'

/** Milliseconds for one call. */
const LONGEST_CALL_MS = 5_000

/** Domains of an account of Mailgun (documentation.mailgun.com, API Reference, Domains). */
export function mailgunDomains({ apiKey, url }: { apiKey: string; url: string }): DomainProvider {
  const options = { username: 'api', key: apiKey, url, timeout: LONGEST_CALL_MS }
  const { domains } = new Mailgun(FormData).client(options)

  async function known(domain: string): Promise<TDomain> {
    try {
      return await domains.get(domain)
    } catch (error) {
      if (!(error instanceof Error && 'status' in error && error.status === 404)) throw error
      await create(domain)
      return domains.get(domain)
    }
  }

  // The client cannot: it refuses numbers for the forms of Node, and takes nothing else for the size of the key.
  async function create(domain: string): Promise<void> {
    const body = new FormData()
    body.set('name', domain)
    body.set('dkim_key_size', '2048')
    const authorization = `Basic ${Buffer.from(`api:${apiKey}`).toString('base64')}`
    const signal = AbortSignal.timeout(LONGEST_CALL_MS)
    const answer = await fetch(`${url}/v4/domains`, {
      method: 'POST',
      headers: { authorization },
      body,
      signal,
    })
    if (!answer.ok) throw new Error(`Mailgun: ${(await answer.text()).slice(0, 500)} (${answer.status})`)
    await answer.body?.cancel()
  }

  return {
    async look(domain) {
      const found = await known(domain)
      const seen = found.state === 'unverified' ? await domains.verify(domain) : found
      return { records: recordsOf(seen, domain), verdict: VERDICTS[seen.state] ?? 'unknown' }
    },
  }
}

const VERDICTS: Record<string, Verdict> = { active: 'present', unverified: 'missing', disabled: 'disabled' }

/** Those for sending; its tracking and its receiving are not used. */
function recordsOf({ sending_dns_records: sending, name }: TDomain, domain: string): DnsRecord[] {
  const texts = (sending ?? []).filter(({ record_type: type }) => type === 'TXT')
  return texts.map((record) => asRecord(record, name || domain))
}

function asRecord({ name, value }: DNSRecord, domain: string): DnsRecord {
  const purpose = name.includes('._domainkey.') ? 'DKIM' : 'SPF'
  return { type: 'TXT', name: name || domain, value, priority: null, purpose, required: true }
}
