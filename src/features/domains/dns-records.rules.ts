export type DnsRecord = {
  type: 'TXT' | 'CNAME' | 'MX'
  name: string
  value: string
  priority: number | null
  purpose: 'DKIM' | 'SPF' | 'DMARC' | 'RETURN_PATH' | 'TRACKING' | 'INBOUND'
  required: boolean
}

/** RFC 6376, 3.6.1: where receivers find the key that our signatures are checked with. */
export const dkimRecord = (domain: string, selector: string, publicKey: string): DnsRecord => ({
  type: 'TXT',
  name: `${selector}._domainkey.${domain}`,
  value: `v=DKIM1; k=rsa; p=${publicKey}`,
  priority: null,
  purpose: 'DKIM',
  required: true,
})

/**
 * Records beside DKIM that make receivers trust mail of the domain; DMARC (RFC 7489) starts by only
 * observing.
 */
export const mailRecords = (domain: string): DnsRecord[] => [
  {
    type: 'TXT',
    name: `_dmarc.${domain}`,
    value: 'v=DMARC1; p=none',
    priority: null,
    purpose: 'DMARC',
    required: false,
  },
]

export type StoredRecord = DnsRecord & { status: string }

/** The records stored in a row; only this service writes them. */
export const readRecords = (records: unknown): StoredRecord[] => (records ?? []) as StoredRecord[]
