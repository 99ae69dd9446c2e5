export type RecordPurpose = 'DKIM' | 'SPF' | 'DMARC' | 'RETURN_PATH' | 'INBOUND' | 'OWNERSHIP'

export type DnsRecord = {
  type: 'TXT' | 'CNAME' | 'MX'
  name: string
  value: string
  priority: number | null
  purpose: RecordPurpose
  required: boolean
}

export type RecordStatus = 'PENDING' | 'VERIFIED' | 'FAILED'

/** A record with what the last check has found; fields are missing in rows of earlier versions. */
export type StoredRecord = DnsRecord & {
  status: RecordStatus
  /** Contents of the records of that name and type; null when nobody has looked, or got an answer. */
  found?: string[] | null
  /** What to do, or why nothing can be said; null when there is nothing to say. */
  message?: string | null
}

const txt = (name: string, value: string, purpose: RecordPurpose, required: boolean): DnsRecord => ({
  ...{ type: 'TXT', name, value, priority: null, purpose, required },
})

export const dkimName = (domain: string, selector: string): string => `${selector}._domainkey.${domain}`

export const dkimValue = (publicKey: string): string => `v=DKIM1; k=rsa; p=${publicKey}`

/** RFC 6376, 3.6.1: where receivers find the key that our signatures are checked with. */
export const dkimRecord = (domain: string, selector: string, value: string, required = true): DnsRecord =>
  txt(dkimName(domain, selector), value, 'DKIM', required)

/** RFC 7208: who may send for the domain of the envelope's sender. Unknown senders are suspicious, not refused. */
export const spfRecord = (domain: string, mechanisms: string, required = false): DnsRecord =>
  txt(domain, `v=spf1 ${mechanisms} ~all`, 'SPF', required)

/** RFC 7489: starts by only observing. */
export const dmarcRecord = (domain: string): DnsRecord =>
  txt(`_dmarc.${domain}`, 'v=DMARC1; p=none', 'DMARC', false)

/**
 * Providers verify a domain once for their whole account, so that another project of it would inherit that. Only who has the
 * DNS of the domain can publish the id of the project's own entry.
 */
export const ownershipRecord = (domain: string, domainId: string): DnsRecord =>
  txt(`_mailwright.${domain}`, `mailwright-verification=${domainId}`, 'OWNERSHIP', true)

export const mxRecord = (
  name: string,
  host: string,
  purpose: RecordPurpose,
  required = false,
): DnsRecord => ({
  ...{ type: 'MX', name, value: host, priority: 10, purpose, required },
})

export const cnameRecord = (
  name: string,
  value: string,
  purpose: RecordPurpose,
  required = true,
): DnsRecord => ({
  ...{ type: 'CNAME', name, value, priority: null, purpose, required },
})

/** The records stored in a row; only this service writes them. */
export const readRecords = (records: unknown): StoredRecord[] => (records ?? []) as StoredRecord[]

/** The same records with the state of a domain that nobody has looked at. */
export const withStatus = (records: DnsRecord[], status: RecordStatus): StoredRecord[] =>
  records.map(({ type, name, value, priority, purpose, required }) => ({
    ...{ type, name, value, priority, purpose, required },
    ...{ status, found: null, message: null },
  }))
