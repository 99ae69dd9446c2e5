import { dmarcPolicy, isDmarc, organisationalDomain, tagsOf } from '../../lib/net/dmarc.ts'
import type { DnsAnswer, DnsResolver, MxRecord } from '../../lib/net/dns-resolver.ts'
import type { DnsRecord, RecordStatus, StoredRecord } from './dns-records.rules.ts'

type Found = Pick<StoredRecord, 'status' | 'found' | 'message'>

/** What the records of a name say: whether they are right, and what is wrong with them. */
type Judgement = { isRight: boolean; message: string | null }

const RIGHT: Judgement = { isRight: true, message: null }
const wrong = (message: string): Judgement => ({ isRight: false, message })

/** Looks up the records, all at the same time. Never rejects. */
export const checkDns = (
  dns: DnsResolver,
  domain: string,
  records: readonly (DnsRecord & { status?: RecordStatus })[],
): Promise<StoredRecord[]> =>
  Promise.all(
    records.map(async ({ status = 'PENDING', ...record }) => ({
      ...record,
      ...(await check(dns, domain, record, status)),
    })),
  )

function check(dns: DnsResolver, domain: string, record: DnsRecord, before: RecordStatus): Promise<Found> {
  switch (record.type) {
    case 'CNAME':
      return judged(dns.cname(record.name), before, (host) => sameHost(host, record.value), record)
    case 'MX':
      return judged(dns.mx(record.name), before, ({ exchange }) => sameHost(exchange, record.value), record)
    case 'TXT':
      return checkText(dns, domain, record, before)
  }
}

async function judged<Item extends string | MxRecord>(
  lookup: Promise<DnsAnswer<Item>>,
  before: RecordStatus,
  isRight: (item: Item) => boolean,
  { value }: DnsRecord,
): Promise<Found> {
  return fromAnswer(await lookup, before, (items) =>
    items.some(isRight) ? RIGHT : wrong(`It leads elsewhere; publish ${value}.`),
  )
}

async function checkText(
  dns: DnsResolver,
  domain: string,
  record: DnsRecord,
  before: RecordStatus,
): Promise<Found> {
  const answer = await dns.txt(record.name)
  switch (record.purpose) {
    case 'DKIM':
      return fromAnswer(answer, before, (texts) => judgeDkim(texts, record))
    case 'SPF':
      return fromAnswer(answer, before, (texts) => judgeSpf(texts, record), isSpf)
    case 'DMARC':
      return checkDmarc(dns, domain, answer, before)
    default:
      return fromAnswer(answer, before, (texts) =>
        texts.includes(record.value) ? RIGHT : wrong('There is another text; add this one beside it.'),
      )
  }
}

/** `concerns` picks the records that are about the matter: a name has texts for many. */
function fromAnswer<Item extends string | MxRecord>(
  answer: DnsAnswer<Item>,
  before: RecordStatus,
  judge: (items: readonly Item[]) => Judgement,
  concerns: (item: Item) => boolean = () => true,
): Found {
  if (answer.state === 'failed') {
    const message = `The DNS gave no answer (${answer.code}), which says nothing about the record. It is looked up again.`
    return { status: before, found: null, message }
  }
  const items = answer.state === 'found' ? answer.records.filter(concerns) : []
  if (items.length === 0) {
    const status = before === 'PENDING' ? 'PENDING' : 'FAILED'
    const message =
      answer.state === 'noName'
        ? 'The name does not exist in the DNS (NXDOMAIN).'
        : 'The name exists in the DNS, but has no such record.'
    return { status, found: [], message }
  }
  const { isRight, message } = judge(items)
  return { status: isRight ? 'VERIFIED' : 'FAILED', found: items.slice(0, MOST_FOUND).map(shown), message }
}

/** What is kept of what was found: anybody may publish anything of any length. */
const MOST_FOUND = 5
const LONGEST_FOUND = 1_000
const shown = (item: string | MxRecord): string =>
  (typeof item === 'string' ? item : `${item.priority} ${item.exchange}`)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, LONGEST_FOUND)
    .toWellFormed()

const sameHost = (found: string, expected: string): boolean =>
  found.toLowerCase().replace(/\.$/, '') === expected.toLowerCase().replace(/\.$/, '')

/** RFC 6376, 3.6.1: tags in any order, white space within the key is ignored, an empty key is revoked. */
function judgeDkim(texts: readonly string[], { value }: DnsRecord): Judgement {
  const keyOf = (text: string) => tagsOf(text).get('p')?.replaceAll(/\s/g, '')
  if (texts.length > 1) {
    return wrong(
      'There are several records of this name; receivers may read any of them. Leave only this one.',
    )
  }
  const [key] = texts.map(keyOf)
  if (key === keyOf(value)) return RIGHT
  if (key === undefined) return wrong('It is no DKIM record: it has no p=.')
  return wrong(
    key === '' ? 'The key is revoked: its p= is empty.' : 'It holds another key; publish this value.',
  )
}

const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text)

/** RFC 7208, 4.5: there may be one record only. Others may send as well, so the one that is there may hold more. */
function judgeSpf(texts: readonly string[], { value }: DnsRecord): Judgement {
  if (texts.length > 1) {
    return wrong('There are several SPF records, which makes all of them invalid. Join them into one.')
  }
  const terms = (text: string) => text.toLowerCase().split(/\s+/)
  const [found = []] = texts.map(terms)
  const missing = terms(value)
    .slice(1, -1)
    .filter((term) => !found.includes(term) && !found.includes(`+${term}`))
  return missing.length === 0
    ? RIGHT
    : wrong(`Add ${missing.join(' ')} to the record, in front of its "all".`)
}

/** A subdomain without a record has that of its organisational domain (RFC 7489, 6.6.3). */
async function checkDmarc(
  dns: DnsResolver,
  domain: string,
  own: DnsAnswer<string>,
  before: RecordStatus,
): Promise<Found> {
  const organisation = organisationalDomain(domain)
  const hasOwn = own.state === 'found' && own.records.some(isDmarc)
  const isOwn = hasOwn || own.state === 'failed' || organisation === domain
  const answer = isOwn ? own : await dns.txt(`_dmarc.${organisation}`)
  return fromAnswer(answer, before, (texts) => judgeDmarc(texts, isOwn, organisation), isDmarc)
}

function judgeDmarc(texts: readonly string[], isOwn: boolean, organisation: string): Judgement {
  if (texts.length > 1) return wrong('There are several DMARC records; receivers then use none. Leave one.')
  const policy = dmarcPolicy(texts[0] ?? '', isOwn)
  if (!policy) return wrong('Receivers do not understand it: p= has to be none, quarantine or reject.')
  return { isRight: true, message: isOwn ? null : `The record of ${organisation} applies to its subdomains.` }
}
