import * as assert from 'uvu/assert'
import { createDnsResolver, type DnsAnswer } from '../../src/lib/net/dns-resolver.ts'
import { HOUR, MINUTE, SECOND, shiftedClock } from '../support/clock.ts'
import { type Names, startDnsServer } from '../support/dns-server.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'

/** What a lookup of this module may take at most, with room for a busy machine. */
const LIMIT_MS = 8_000
/** Nobody listens there. */
const DEAD = '127.0.0.1:1'

async function start() {
  const server = await startDnsServer()
  const clock = shiftedClock()
  const resolver = (servers = [server.address]) => createDnsResolver({ servers, now: clock.now })
  /** The server with these names, and a resolver that has asked nothing yet. */
  const serving = async (names: Names) => {
    await server.serve(names)
    await server.questions()
    return resolver()
  }
  return { server, clock, resolver, serving, stop: server.stop }
}

const recordsOf = <Item>(answer: DnsAnswer<Item>): readonly Item[] => {
  if (answer.state !== 'found') throw new Error(`There is no record: ${JSON.stringify(answer)}`)
  return answer.records
}

scenario('The DNS resolver', start, (test) => {
  test('reads every type of record', async ({ serving }) => {
    const dns = await serving({
      'example.org': {
        A: ['192.0.2.1', '192.0.2.2'],
        AAAA: ['2001:db8::1'],
        MX: ['10 mx1.example.org', '20 mx2.example.org'],
        NS: ['ns1.example.org'],
        SOA: ['ns1.example.org'],
        TXT: ['v=spf1 -all'],
      },
      'www.example.org': { CNAME: ['example.org'] },
    })
    assert.equal(recordsOf(await dns.a('example.org')).toSorted(), ['192.0.2.1', '192.0.2.2'])
    assert.equal(recordsOf(await dns.aaaa('example.org')), ['2001:db8::1'])
    assert.equal(recordsOf(await dns.mx('example.org')), [
      { exchange: 'mx1.example.org', priority: 10 },
      { exchange: 'mx2.example.org', priority: 20 },
    ])
    assert.equal(recordsOf(await dns.ns('example.org')), ['ns1.example.org'])
    assert.is(recordsOf(await dns.soa('example.org'))[0]?.nsname, 'ns1.example.org')
    assert.equal(recordsOf(await dns.txt('example.org')), ['v=spf1 -all'])
    assert.equal(recordsOf(await dns.cname('www.example.org')), ['example.org'])
  })

  test('tells a name without such a record from one that does not exist', async ({ serving }) => {
    const dns = await serving({ 'example.org': { A: ['192.0.2.1'], MX: ['0 .'] } })
    assert.equal(await dns.txt('example.org'), { state: 'noData' })
    assert.equal(await dns.a('example.net'), { state: 'noName' })
    assert.equal(recordsOf(await dns.mx('example.org')), [{ exchange: '', priority: 0 }])
    assert.equal(await dns.a(`${'a.'.repeat(130)}example`), { state: 'noName' })
  })

  test('does not mix names, nor types', async ({ serving }) => {
    const dns = await serving({
      'one.example': { A: ['192.0.2.1'], MX: ['1 mx.one.example'] },
      'two.example': { A: ['192.0.2.2'], MX: ['2 mx.two.example'] },
    })
    for (const round of ['asked', 'kept']) {
      assert.equal(recordsOf(await dns.a('one.example')), ['192.0.2.1'], round)
      assert.equal(recordsOf(await dns.a('two.example')), ['192.0.2.2'], round)
      assert.equal(recordsOf(await dns.mx('two.example')), [{ exchange: 'mx.two.example', priority: 2 }])
      assert.equal(recordsOf(await dns.mx('one.example')), [{ exchange: 'mx.one.example', priority: 1 }])
      assert.equal(await dns.a('three.example'), { state: 'noName' }, round)
    }
  })

  for (const [what, ask, ttl, kept] of [
    ['an address as long as its TTL says', 'a', 30, 30 * SECOND],
    ['an IPv6 address as long as its TTL says', 'aaaa', 30, 30 * SECOND],
    ['an address for an hour at most', 'a', 86_400, HOUR],
    ['other records for five minutes', 'mx', 30, 5 * MINUTE],
    ['for a minute that there is no record', 'ns', 30, MINUTE],
  ] as const) {
    test(`keeps ${what}`, async ({ serving, server, clock }) => {
      const dns = await serving({
        'example.org': { A: ['192.0.2.1'], AAAA: ['2001:db8::1'], MX: ['10 mx.example.org'], ttl },
      })
      const question = [`${ask.toUpperCase()} example.org`]
      const first = await dns[ask]('example.org')
      assert.equal(await server.questions(), question)
      clock.advance(kept - 10 * SECOND)
      assert.equal(await dns[ask]('example.org'), first)
      assert.equal(await server.questions(), [])
      clock.advance(11 * SECOND)
      assert.equal(await dns[ask]('example.org'), first)
      assert.equal(await server.questions(), question)
    })
  }

  test('keeps for a minute that a name does not exist, and then sees that it does', async (context) => {
    const { serving, server, clock } = context
    const dns = await serving({})
    assert.equal(await dns.a('example.org'), { state: 'noName' })
    await server.serve({ 'example.org': { A: ['192.0.2.1'] } })
    clock.advance(50 * SECOND)
    assert.equal(await dns.a('example.org'), { state: 'noName' })
    clock.advance(11 * SECOND)
    assert.equal(recordsOf(await dns.a('example.org')), ['192.0.2.1'])
  })

  test('does not keep what lives for no time', async ({ serving, server }) => {
    const dns = await serving({ 'example.org': { A: ['192.0.2.1'], ttl: 0 } })
    await dns.a('example.org')
    await dns.a('example.org')
    assert.equal(await server.questions(), ['A example.org', 'A example.org'])
  })

  test('asks again after a failure', async ({ serving, server }) => {
    const dns = await serving({ 'example.org': { others: 'SERVFAIL' } })
    assert.equal(await dns.a('example.org'), { state: 'failed', code: 'ESERVFAIL' })
    await server.serve({ 'example.org': { A: ['192.0.2.1'] } })
    assert.equal(recordsOf(await dns.a('example.org')), ['192.0.2.1'])
  })

  test('keeps a number of answers and forgets the oldest', async ({ serving, server }) => {
    const dns = await serving({ '*': { NS: ['ns.example'] } })
    for (let i = 0; i < 5_001; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => dns.ns(`n${i + j}.example`)))
    }
    await server.questions()
    await dns.ns('n5000.example')
    assert.equal(await server.questions(), [])
    await dns.ns('n0.example')
    assert.equal(await server.questions(), ['NS n0.example'])
  })

  test('asks once for equal lookups at the same time', async ({ serving, server }) => {
    const dns = await serving({ 'example.org': { others: 'held' }, 'example.net': { others: 'held' } })
    const lookups = [dns.a('example.org'), dns.a('example.org'), dns.a('example.net'), dns.a('example.org')]
    const asked: string[] = []
    await until('both questions', async () => asked.push(...(await server.questions())) >= 2)
    await server.release()
    const answers = await Promise.all(lookups)
    for (const answer of answers) assert.equal(recordsOf(answer), ['192.0.2.1'])
    asked.push(...(await server.questions()))
    assert.equal(asked.toSorted(), ['A example.net', 'A example.org'])
  })

  test('reads an answer that is too long for UDP', async ({ serving }) => {
    const dns = await serving({ 'example.org': { MX: 'truncated' } })
    assert.equal(recordsOf(await dns.mx('example.org')), [{ exchange: 'mail.example', priority: 10 }])
  })

  test('says why there is no answer', async ({ serving, resolver }) => {
    const dns = await serving({
      'servfail.example': { others: 'SERVFAIL' },
      'refused.example': { others: 'REFUSED' },
      'garbage.example': { others: 'garbage' },
    })
    assert.equal(await dns.mx('servfail.example'), { state: 'failed', code: 'ESERVFAIL' })
    assert.equal(await dns.mx('refused.example'), { state: 'failed', code: 'EREFUSED' })
    assert.equal(await dns.mx('garbage.example'), { state: 'failed', code: 'EBADRESP' })
    assert.equal(await resolver([DEAD]).mx('example.org'), { state: 'failed', code: 'ECONNREFUSED' })
  })

  test('gives up when nobody answers, and asks again later', async ({ serving, server }) => {
    const dns = await serving({ 'example.org': { MX: 'silence' } })
    const startedAt = performance.now()
    assert.equal(await dns.mx('example.org'), { state: 'failed', code: 'ETIMEOUT' })
    assert.ok(performance.now() - startedAt < LIMIT_MS)
    await server.serve({ 'example.org': { MX: ['10 mx.example.org'] } })
    const found = await until('an answer', async () => {
      const answer = await dns.mx('example.org')
      return answer.state === 'found' && answer
    })
    assert.equal(recordsOf(found), [{ exchange: 'mx.example.org', priority: 10 }])
  })
})

async function startTwo() {
  const [bad, good] = [await startDnsServer(), await startDnsServer({ 'example.org': { A: ['192.0.2.1'] } })]
  const stop = async () => {
    await bad.stop()
    await good.stop()
  }
  const lookUp = (servers: string[]) => createDnsResolver({ servers, now: () => new Date() }).a('example.org')
  return { bad, good, lookUp, stop }
}

scenario('The DNS resolver with several servers', startTwo, (test) => {
  for (const misbehaviour of ['REFUSED', 'SERVFAIL', 'garbage', 'silence'] as const) {
    test(`asks the next one after ${misbehaviour}`, async ({ bad, good, lookUp }) => {
      await bad.serve({ '*': { others: misbehaviour } })
      assert.equal(recordsOf(await lookUp([bad.address, good.address])), ['192.0.2.1'])
      assert.ok((await bad.questions()).length > 0)
    })
  }

  test('asks the next one when nobody is there', async ({ good, lookUp }) => {
    assert.equal(recordsOf(await lookUp([DEAD, good.address])), ['192.0.2.1'])
  })

  test('believes the first one that a name does not exist', async ({ bad, good, lookUp }) => {
    await bad.serve({})
    await good.questions()
    assert.equal(await lookUp([bad.address, good.address]), { state: 'noName' })
    assert.equal(await good.questions(), [])
  })

  test('says what the last one said when all refuse', async ({ bad, lookUp }) => {
    await bad.serve({ '*': { others: 'REFUSED' } })
    assert.equal(await lookUp([bad.address, bad.address]), { state: 'failed', code: 'EREFUSED' })
  })

  test('gives up in time when all are silent', async ({ bad, good, lookUp }) => {
    for (const server of [bad, good]) await server.serve({ '*': { others: 'silence' } })
    const startedAt = performance.now()
    const answer = await lookUp([bad.address, good.address])
    assert.ok(performance.now() - startedAt < LIMIT_MS)
    assert.equal(answer, { state: 'failed', code: 'ETIMEOUT' })
  })
})
