import type { SoaRecord } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { within } from '../async/within.ts'

export type DnsAnswer<Item> =
  | { state: 'found'; records: readonly Item[] }
  /** The name exists, without a record of this type. */
  | { state: 'noData' }
  /** The name does not exist (NXDOMAIN). */
  | { state: 'noName' }
  /** No server gave an answer; `code` is that of node:dns, such as ETIMEOUT, ESERVFAIL or EREFUSED. */
  | { state: 'failed'; code: string }

/** Asks for one type of record. The name is ASCII and in lower case. Never rejects, and ends within LOOKUP_MS. */
export type DnsLookup<Item> = (name: string) => Promise<DnsAnswer<Item>>

/** An exchange of '' is the root: the domain takes no mail (RFC 7505). */
export type MxRecord = { exchange: string; priority: number }

export type DnsResolver = {
  a: DnsLookup<string>
  aaaa: DnsLookup<string>
  cname: DnsLookup<string>
  mx: DnsLookup<MxRecord>
  ns: DnsLookup<string>
  soa: DnsLookup<SoaRecord>
  /** Joins the strings of a record, as readers of TXT records do. */
  txt: DnsLookup<string>
}

export type DnsResolverOptions = {
  /** Each as `isServerAddress` takes it; none means the system's. */
  servers?: readonly string[]
  /** Clock for the age of remembered answers. */
  now: () => Date
}

/** No lookup takes longer, whatever the servers do and however many there are. */
const LOOKUP_MS = 4_500
/**
 * One try. node:dns looks at its timers only once a second. It waits less for a server that has been quick,
 * and a slow domain behind a quick server needs more than two of those tries.
 */
const TRY = { timeout: 1_000, maxTimeout: 2_000, tries: 4 }

/** node:dns tells the TTL of addresses only. */
const DEFAULT_TTL_S = 300
const MAX_TTL_S = 3_600
const NEGATIVE_TTL_S = 60
/** Answers that are kept, per type of record. */
const MAX_KEPT = 5_000

/**
 * Looks up names in the DNS. Addresses are kept as long as they live, at most an hour, other records for
 * DEFAULT_TTL_S, answers without records for a minute, failures not at all. Equal lookups at the same time
 * are one question. Opens no socket until it is asked.
 */
export function createDnsResolver({ servers = [], now }: DnsResolverOptions): DnsResolver {
  const lookup = <Item>(query: Query<Item>): DnsLookup<Item> =>
    remembering(now, async (name) => {
      // New ones for each question: in one that is shared, questions were seen that were never sent.
      return askInTurn(makeResolvers(servers), query, name)
    })
  return {
    a: lookup(async (resolver, name) => withTtl(await resolver.resolve4(name, { ttl: true }))),
    aaaa: lookup(async (resolver, name) => withTtl(await resolver.resolve6(name, { ttl: true }))),
    cname: lookup(async (resolver, name) => withoutTtl(await resolver.resolveCname(name))),
    mx: lookup(async (resolver, name) => {
      const records = await resolver.resolveMx(name)
      // Newer versions of Node tell the type of the record as well.
      return withoutTtl(records.map(({ exchange, priority }) => ({ exchange, priority })))
    }),
    ns: lookup(async (resolver, name) => withoutTtl(await resolver.resolveNs(name))),
    soa: lookup(async (resolver, name) => withoutTtl([await resolver.resolveSoa(name)])),
    txt: lookup(async (resolver, name) =>
      withoutTtl((await resolver.resolveTxt(name)).map((strings) => strings.join(''))),
    ),
  }
}

/** Whether node:dns takes it as a server: an IP address, or one with a port such as 192.0.2.1:53 or [::1]:53. */
export function isServerAddress(text: string): boolean {
  if (isIP(text) !== 0) return true
  const [, six = '', four = '', port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (!isIPv6(six) && !isIPv4(four)) return false
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
}

type Found<Item> = { records: Item[]; ttlS: number }
type Query<Item> = (resolver: Resolver, name: string) => Promise<Found<Item>>
type Asked<Item> = { answer: DnsAnswer<Item>; keepS: number }

const withTtl = (found: { address: string; ttl: number }[]): Found<string> => ({
  records: found.map(({ address }) => address),
  ttlS: Math.min(MAX_TTL_S, ...found.map(({ ttl }) => ttl)),
})

const withoutTtl = <Item>(records: Item[]): Found<Item> => ({ records, ttlS: DEFAULT_TTL_S })

/** One resolver per server; each of them begins with another server. */
function makeResolvers(given: readonly string[]): Resolver[] {
  const servers = given.length > 0 ? given : new Resolver().getServers()
  if (servers.length === 0) return [new Resolver(TRY)]
  return servers.map((_server, index) => {
    const resolver = new Resolver(TRY)
    resolver.setServers([...servers.slice(index), ...servers.slice(0, index)])
    return resolver
  })
}

/** node:dns goes on to the next server when one is silent, but takes a refusal for an answer. */
const REFUSALS = new Set(['ESERVFAIL', 'EREFUSED'])

async function askInTurn<Item>(
  resolvers: readonly Resolver[],
  query: Query<Item>,
  name: string,
): Promise<Asked<Item>> {
  let asked: Asked<Item> = { answer: { state: 'failed', code: 'ECONNREFUSED' }, keepS: 0 }
  for (const resolver of resolvers) {
    asked = await query(resolver, name).then(fromFound<Item>, fromError<Item>)
    if (asked.answer.state !== 'failed' || !REFUSALS.has(asked.answer.code)) return asked
  }
  return asked
}

const fromFound = <Item>({ records, ttlS }: Found<Item>): Asked<Item> =>
  records.length > 0
    ? { answer: { state: 'found', records }, keepS: ttlS }
    : { answer: { state: 'noData' }, keepS: NEGATIVE_TTL_S }

function fromError<Item>(error: unknown): Asked<Item> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
  if (code === 'ENODATA') return { answer: { state: 'noData' }, keepS: NEGATIVE_TTL_S }
  // A name that is too long to be asked for cannot exist.
  if (code === 'ENOTFOUND' || code === 'EBADNAME')
    return { answer: { state: 'noName' }, keepS: NEGATIVE_TTL_S }
  return { answer: { state: 'failed', code }, keepS: 0 }
}

/** Keeps answers for as long as they say, and lets equal questions at the same time share one. */
function remembering<Item>(now: () => Date, ask: (name: string) => Promise<Asked<Item>>): DnsLookup<Item> {
  const kept = new Map<string, { answer: DnsAnswer<Item>; until: number }>()
  const underWay = new Map<string, Promise<DnsAnswer<Item>>>()

  const askAndKeep = async (name: string): Promise<DnsAnswer<Item>> => {
    const { answer, keepS } = await ask(name).catch(fromError<Item>)
    kept.delete(name)
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    if (keepS > 0) kept.set(name, { answer, until: now().getTime() + keepS * 1_000 })
    return answer
  }

  const start = (name: string): Promise<DnsAnswer<Item>> => {
    const started = askAndKeep(name).finally(() => underWay.delete(name))
    underWay.set(name, started)
    return started
  }

  return async (name) => {
    const known = kept.get(name)
    if (known && known.until > now().getTime()) return known.answer
    const answer = await within(LOOKUP_MS, underWay.get(name) ?? start(name))
    return answer ?? { state: 'failed', code: 'ETIMEOUT' }
  }
}
