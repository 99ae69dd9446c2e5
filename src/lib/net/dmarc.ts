import { getDomain } from 'tldts'

export type DmarcPolicy = {
  /** What receivers are asked to do with mail of the domain that fails. */
  policy: 'none' | 'quarantine' | 'reject'
  /** Whether the domain that signs, or that of the envelope, has to be the very one of `From`. */
  dkimIsStrict: boolean
  spfIsStrict: boolean
}

const POLICIES = ['none', 'quarantine', 'reject'] as const

/** Tags of a record of the form `v=DKIM1; k=rsa`, by name. */
export const tagsOf = (record: string): Map<string, string> =>
  new Map(
    record.split(';').flatMap((part): [string, string][] => {
      const equals = part.indexOf('=')
      return equals < 0 ? [] : [[part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim()]]
    }),
  )

export const isDmarc = (record: string): boolean => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(record)

/**
 * The policy that applies (RFC 7489, 6.3 and 6.6.3), null when receivers take the record for none. `isOwn` is false when it is
 * the record of the organisational domain, whose `sp` is then about subdomains.
 */
export function dmarcPolicy(record: string, isOwn: boolean): DmarcPolicy | null {
  if (!isDmarc(record)) return null
  const tags = tagsOf(record)
  const said = (isOwn ? undefined : tags.get('sp')) ?? tags.get('p')
  const policy = POLICIES.find((known) => known === said?.toLowerCase())
  if (!policy) return null
  return { policy, dkimIsStrict: tags.get('adkim') === 's', spfIsStrict: tags.get('aspf') === 's' }
}

/** The domain that somebody has registered, by the public suffix list (RFC 7489, 3.2). */
export const organisationalDomain = (domain: string): string =>
  getDomain(domain, { allowPrivateDomains: true }) ?? domain

/** Whether an authenticated domain counts for mail from `from` (RFC 7489, 3.1). */
export const isAligned = (authenticated: string, from: string, isStrict: boolean): boolean =>
  isStrict ? authenticated === from : organisationalDomain(authenticated) === organisationalDomain(from)
