import type { DnsAnswer, MxRecord } from '../../lib/net/dns-resolver.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import { isAliasService, isDisposable, isPersonalProvider } from './providers.rules.ts'
import { findTypo } from './typos.rules.ts'

/** The answers of the DNS about the domain of an address, and about the name `www` in it. */
export type DnsFacts = {
  ns: DnsAnswer<unknown>
  soa: DnsAnswer<unknown>
  mx: DnsAnswer<MxRecord>
  a: DnsAnswer<string>
  aaaa: DnsAnswer<string>
  wwwA: DnsAnswer<string>
  wwwAaaa: DnsAnswer<string>
}

export type EmailVerification = {
  email: string
  valid: boolean
  isDisposable: boolean
  isAlias: boolean
  isTypo: boolean
  isPlusAddressed: boolean
  isPersonalEmail: boolean
  domainExists: boolean
  hasWebsite: boolean
  hasMxRecords: boolean
  suggestedEmail: string | null
  /** Sentences, at least one. */
  reasons: string[]
}

/** Judges a well-formed address by what is known of its domain. */
export function judgeAddress(email: string, facts: DnsFacts): EmailVerification {
  const domain = domainOf(email)
  const [local, shownDomain] = halvesOf(email)
  const domainExists = existence(facts)
  const takesMail = mailing(facts)
  const hasWebsite = website(facts)
  const typo = findTypo(domain)
  const isTypo = typo !== null && (typo.certain || takesMail === false)
  const result: EmailVerification = {
    email,
    valid: domainExists === true && takesMail === true && !isTypo,
    isDisposable: isDisposable(domain),
    isAlias: isAliasService(domain),
    isTypo,
    isPlusAddressed: local.includes('+'),
    isPersonalEmail: isPersonalProvider(domain),
    domainExists: domainExists === true,
    hasWebsite: hasWebsite === true,
    hasMxRecords: takesMail === true,
    suggestedEmail: isTypo ? `${local}@${typo.domain}` : null,
    reasons: [],
  }
  const open = [
    ...(domainExists === null ? ['exists'] : []),
    ...(takesMail === null ? ['takes mail'] : []),
    ...(hasWebsite === null ? ['has a website'] : []),
  ]
  const reasons = [
    ...mailReasons(shownDomain, facts, domainExists, takesMail),
    ...(open.length > 0 ? [notAsked(shownDomain, open, facts)] : []),
    ...remarks(result, shownDomain, typo?.domain),
  ]
  return { ...result, reasons: result.valid ? ['The address looks valid.', ...reasons] : reasons }
}

function halvesOf(email: string): [local: string, domain: string] {
  const at = email.lastIndexOf('@')
  return [email.slice(0, at), email.slice(at + 1)]
}

/** Null: could not be determined. */
type Known = boolean | null

/**
 * A zone of its own (NS or SOA) is not needed: a subdomain such as mail.example.com has none. It exists when
 * anything is said of it, even that it has no record of that type.
 */
function existence({ ns, soa, mx, a, aaaa }: DnsFacts): Known {
  const states = [ns, soa, mx, a, aaaa].map(({ state }) => state)
  if (states.includes('found') || states.includes('noData')) return true
  return states.includes('noName') ? false : null
}

/** RFC 5321, 5.1: without an MX record the address of the domain takes the mail. */
function mailing({ mx, a, aaaa }: DnsFacts): Known {
  if (mx.state === 'found') return !isNullMx(mx)
  return mx.state === 'failed' ? null : anyFound(a, aaaa)
}

/** RFC 7505: the domain says that it takes no mail. */
const isNullMx = (mx: DnsAnswer<MxRecord>): boolean =>
  mx.state === 'found' && mx.records.every(({ exchange }) => exchange === '')

const website = ({ a, aaaa, wwwA, wwwAaaa }: DnsFacts): Known => anyFound(a, aaaa, wwwA, wwwAaaa)

function anyFound(...answers: DnsAnswer<unknown>[]): Known {
  if (answers.some(({ state }) => state === 'found')) return true
  return answers.some(({ state }) => state === 'failed') ? null : false
}

function mailReasons(domain: string, { mx }: DnsFacts, exists: Known, takesMail: Known): string[] {
  if (exists === false) return [`The domain ${domain} does not exist.`]
  if (takesMail === false) {
    return [
      isNullMx(mx)
        ? `The domain ${domain} says that it takes no mail (null MX record).`
        : `The domain ${domain} has no mail server: it has neither an MX record nor an address.`,
    ]
  }
  if (takesMail && mx.state !== 'found')
    return [`The domain ${domain} has no MX record; mail goes to its address.`]
  return []
}

/** Meaning of the codes of node:dns for people; other codes are shown as they are. */
const FAILURES: Record<string, string> = {
  ETIMEOUT: 'no answer came in time',
  ESERVFAIL: 'the DNS server failed (SERVFAIL)',
  EREFUSED: 'the DNS server refused to answer (REFUSED)',
  ECONNREFUSED: 'no DNS server could be reached',
  EBADRESP: 'the answer could not be read',
}

function notAsked(domain: string, open: string[], facts: DnsFacts): string {
  const codes = Object.values(facts).flatMap((answer) => (answer.state === 'failed' ? [answer.code] : []))
  const causes = [...new Set(codes)].map((code) => FAILURES[code] ?? `the DNS lookup failed (${code})`)
  return `The DNS could not be asked whether ${domain} ${listed(open)}: ${listed(causes)}. Try again.`
}

const listed = (items: string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`

function remarks(result: EmailVerification, domain: string, meant: string | undefined): string[] {
  const found: [boolean, string][] = [
    [result.isTypo, `The domain ${domain} looks like a misspelling of ${meant}.`],
    [result.isDisposable, `The domain ${domain} gives out disposable addresses.`],
    [result.isAlias, `The domain ${domain} belongs to a service that forwards mail to another address.`],
    [result.isPlusAddressed, 'The part before the @ has a tag ("+").'],
    [result.isPersonalEmail, `The domain ${domain} is one of a provider of personal mail.`],
  ]
  return found.filter(([applies]) => applies).map(([, sentence]) => sentence)
}
