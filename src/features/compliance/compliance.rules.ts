import { type DmarcPolicy, dmarcPolicy, isAligned } from '../../lib/net/dmarc.ts'
import type { RecordPurpose, StoredRecord } from '../domains/dns-records.rules.ts'

export const CHECK_NAMES = {
  SPF: { description: 'The DNS says who may send for the domain (RFC 7208).' },
  DKIM: { description: 'Mail is signed by the domain (RFC 6376).' },
  DMARC: { description: 'The domain says what becomes of mail that is neither (RFC 7489).' },
  ALIGNMENT: { description: 'The domain of From is the one that DKIM or SPF vouches for (RFC 7489, 3.1).' },
  ONE_CLICK: { description: 'Marketing mail can be unsubscribed from in one click (RFC 8058).' },
  COMPLAINT_RATE: { description: 'Complaints of recipients: below 0.1 percent, never 0.3 percent.' },
  BOUNCE_RATE: { description: 'Addresses that do not exist: below 5 percent, never 10 percent.' },
  PTR: { description: 'The sending addresses have names that lead back to them.' },
  TLS: { description: 'Mail leaves encrypted.' },
} as const
export type CheckName = keyof typeof CHECK_NAMES

export type CheckState = 'PASS' | 'WARN' | 'FAIL' | 'UNKNOWN'

export type ComplianceCheck = {
  name: CheckName
  /** Null for what is about all mail of the project. */
  domain: string | null
  state: CheckState
  /** What was found; null when there is nothing to show. */
  value: string | null
  /** What to do; null when there is nothing to do. */
  advice: string | null
  /** The page that asks for it. */
  source: string
}

/** "Email sender guidelines" of Gmail; those of Yahoo and Outlook ask for the same. */
const GMAIL = 'https://support.google.com/a/answer/81126'
const SES = 'https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-messages.html'

export type SenderDomain = { domain: string; records: StoredRecord[] }
type Provider = 'mailbox' | 'smtp' | 'mailgun' | 'ses'

const check = (
  name: CheckName,
  domain: string | null,
  state: CheckState,
  value: string | null,
  advice: string | null,
  source = GMAIL,
): ComplianceCheck => ({ name, domain, state, value, advice, source })

/** SPF, DKIM, DMARC and alignment of a domain, by what the last check of its records has found. */
export function authenticationOf({ domain, records }: SenderDomain, provider: Provider): ComplianceCheck[] {
  if (provider === 'mailbox') {
    const advice = 'Mail stays in the mailbox, so nobody looks at DNS. Name a mail provider first.'
    return (['SPF', 'DKIM', 'DMARC', 'ALIGNMENT'] as const).map((name) =>
      check(name, domain, 'UNKNOWN', null, advice),
    )
  }
  const of = (wanted: RecordPurpose) => records.filter(({ purpose }) => purpose === wanted)
  const dkim = of('DKIM').filter(({ required }) => required)
  const [spf] = of('SPF')
  const [dmarc] = of('DMARC')
  const policy = policyOf(domain, dmarc)
  const states = { dkim: worst(dkim.map(stateOf)), spf: spf ? stateOf(spf) : 'UNKNOWN' } as const
  const whoSends =
    'The service does not know which servers send: the operator names them in SMTP_SPF (include:… of the mail server).'
  const monitoring =
    policy?.policy === 'none'
      ? 'p=none only observes. Read the reports (rua=), then go on to quarantine or reject.'
      : null
  return [
    check('SPF', domain, states.spf, foundOf(spf), spf ? toDo(spf) : whoSends),
    check('DKIM', domain, states.dkim, namesOf(dkim), dkim.map(toDo).find(Boolean) ?? null),
    check(
      ...(['DMARC', domain, dmarc ? stateOf(dmarc) : 'UNKNOWN', foundOf(dmarc)] as const),
      (dmarc && toDo(dmarc)) ?? monitoring,
    ),
    alignmentOf(domain, states, envelopeOf(domain, provider, of('RETURN_PATH')), policy),
  ]
}

const namesOf = (records: StoredRecord[]): string | null =>
  records.length > 0 ? records.map(({ name }) => name).join(', ') : null

const foundOf = (record: StoredRecord | undefined): string | null =>
  record?.found && record.found.length > 0 ? record.found.join(' | ') : null

const stateOf = ({ status, found }: StoredRecord): CheckState =>
  status === 'VERIFIED' ? 'PASS' : found ? 'FAIL' : 'UNKNOWN'

const worst = (states: CheckState[]): CheckState =>
  (['FAIL', 'UNKNOWN', 'WARN'] as const).find((one) => states.includes(one)) ??
  (states.length > 0 ? 'PASS' : 'UNKNOWN')

/** An SPF record that is there has to be changed, not published beside it. */
function toDo(record: StoredRecord): string | null {
  const { status, purpose, found, type, name, value, message = null } = record
  if (status === 'VERIFIED') return null
  if (purpose === 'SPF' && found && found.length > 0) return message
  return [`Publish ${type} ${name} "${value}".`, message].filter(Boolean).join(' ')
}

function policyOf(domain: string, dmarc: StoredRecord | undefined): DmarcPolicy | null {
  if (dmarc?.status !== 'VERIFIED') return null
  // A record of the organisational domain comes with a message that says so.
  return dmarcPolicy(dmarc.found?.[0] ?? '', dmarc.name === `_dmarc.${domain}` && !dmarc.message)
}

/** The domain of the envelope's sender, which SPF is about; with SES Amazon's own until MAIL FROM is set up. */
function envelopeOf(domain: string, provider: Provider, returnPath: StoredRecord[]): string {
  if (provider !== 'ses') return domain
  const [own] = returnPath
  return own?.status === 'VERIFIED' ? own.name : 'amazonses.com'
}

/** We and the providers sign as the very domain of `From`. */
function alignmentOf(
  domain: string,
  states: { dkim: CheckState; spf: CheckState },
  envelope: string,
  policy: DmarcPolicy | null,
): ComplianceCheck {
  const spfIsAligned = isAligned(envelope, domain, policy?.spfIsStrict ?? false)
  const said = (is: boolean) => (is ? 'aligned' : 'not aligned')
  const value = `DKIM d=${domain} (${said(true)}), SPF ${envelope} (${said(spfIsAligned)})`
  if (states.dkim === 'PASS') return check('ALIGNMENT', domain, 'PASS', value, null)
  if (states.spf === 'PASS' && spfIsAligned) {
    return check(
      'ALIGNMENT',
      domain,
      'WARN',
      value,
      'Only SPF counts, which forwarding breaks. Publish the DKIM record.',
    )
  }
  const state = states.dkim === 'UNKNOWN' ? 'UNKNOWN' : 'FAIL'
  return check('ALIGNMENT', domain, state, value, 'Publish the DKIM record of the domain.')
}

/** Messages, and how many of them bounced for good or were complained of. */
type Counted = { sent: number; bounced: number; complained: number }

/** Below this number of messages a rate says little. */
const ENOUGH = 100

export const ratesOf = ({ sent, bounced, complained }: Counted): ComplianceCheck[] => [
  rate('COMPLAINT_RATE', complained, sent, { warn: 0.1, fail: 0.3 }, GMAIL, COMPLAINTS),
  rate('BOUNCE_RATE', bounced, sent, { warn: 5, fail: 10 }, SES, BOUNCES),
]

const COMPLAINTS =
  'Write only to people who have asked for it, and less often. Gmail tells its own rate in Postmaster Tools only.'
const BOUNCES = 'Remove old lists, and check addresses before they are imported (POST /v1/verify).'

function rate(
  name: CheckName,
  count: number,
  sent: number,
  limits: { warn: number; fail: number },
  source: string,
  advice: string,
): ComplianceCheck {
  const percent = sent === 0 ? 0 : (100 * count) / sent
  const value = `${Number(percent.toFixed(3))} % (${count} of ${sent})`
  if (percent < limits.warn) return check(name, null, sent === 0 ? 'UNKNOWN' : 'PASS', value, null, source)
  const state = percent >= limits.fail && sent >= ENOUGH ? 'FAIL' : 'WARN'
  return check(name, null, state, value, advice, source)
}

/** What is about the service: links to unsubscribe, and the way that mail takes. */
export function serviceChecks(
  isHttps: boolean,
  mail: { provider: Provider; url?: string },
): ComplianceCheck[] {
  const oneClick = isHttps
    ? null
    : 'RFC 8058 asks for links with https: the operator sets API_URL to such an address.'
  return [
    check(
      'ONE_CLICK',
      null,
      isHttps ? 'PASS' : 'FAIL',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      oneClick,
    ),
    ...wayOf(mail),
  ]
}

function wayOf({ provider, url = '' }: { provider: Provider; url?: string }): ComplianceCheck[] {
  if (provider === 'mailgun' || provider === 'ses') {
    return (['PTR', 'TLS'] as const).map((name) =>
      check(name, null, 'PASS', `the servers of ${provider}`, null),
    )
  }
  const askOperator = 'Ask whoever runs the mail server: its sending addresses are not known here.'
  const ptr = check('PTR', null, 'UNKNOWN', null, askOperator)
  if (provider === 'mailbox') return [ptr, check('TLS', null, 'UNKNOWN', null, 'No mail leaves.')]
  const isEncrypted = /^smtps:|[?&]requireTLS=true/.test(url)
  return [
    ptr,
    isEncrypted
      ? check('TLS', null, 'PASS', 'to the mail server, always', null)
      : check(
          'TLS',
          null,
          'UNKNOWN',
          'where the mail server offers it',
          'Use smtps:// or ?requireTLS=true in SMTP_URL.',
        ),
  ]
}
