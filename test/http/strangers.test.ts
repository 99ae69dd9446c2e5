import { randomBytes } from 'node:crypto'
import * as assert from 'uvu/assert'
import { newsletter } from '../features/subscriptions/subscription-support.ts'
import { MINUTE } from '../support/clock.ts'
import { countStatements } from '../support/count-statements.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

const UNKNOWN = `sk_${'0'.repeat(64)}`

const limited = (env: Record<string, string> = {}) =>
  startService({ STRANGER_RATE_LIMIT_PER_MINUTE: '5', ...env })

/** Behind a proxy on this machine, which is trusted. */
const from = (address: string) => ({ 'x-forwarded-for': address })

const ask = ({ graphql }: Service, address: string, query = '{ __typename }') =>
  graphql(query, {}, { headers: from(address) })

const guess = ({ as }: Service, address: string) => as(UNKNOWN).get('/contacts', { headers: from(address) })

scenario(
  'Who has no key',
  () => limited(),
  (test) => {
    test('may ask GraphQL so many times a minute', async (service) => {
      for (let count = 0; count < 5; count += 1) assert.is((await ask(service, '192.0.2.1')).status, 200)
      const refused = await ask(service, '192.0.2.1')
      assert.is(refused.status, 429)
      assertGraphQLRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
      assert.match(refused.body.errors[0].extensions.suggestion, /Authorization/)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.is((await ask(service, '192.0.2.2')).status, 200, 'another address')
      service.clock.advance(MINUTE)
      assert.is((await ask(service, '192.0.2.1')).status, 200, 'the next minute')
    })

    test('is counted for each root field, and for what cannot be run', async (service) => {
      assert.is(
        (await ask(service, '192.0.2.10', '{ config { environment } a: config { environment } }')).status,
        200,
      )
      assert.is((await ask(service, '192.0.2.10', '{')).status, 200)
      assert.is((await ask(service, '192.0.2.10', '{ nothing }')).status, 200)
      const tooMany = await ask(service, '192.0.2.10', '{ config { environment } a: config { environment } }')
      assertGraphQLRefused(tooMany, 429, 'RATE_LIMIT_EXCEEDED')
      assert.is(tooMany.status, 429)
    })

    test('may guess so many keys, over any door, and is told before the database is asked', async (service) => {
      for (let count = 0; count < 4; count += 1) {
        assertRefused(await guess(service, '192.0.2.20'), 401, 'INVALID_API_KEY')
      }
      const overGraphQL = () =>
        service.as(UNKNOWN).graphql('{ __typename }', {}, { headers: from('192.0.2.20') })
      assertGraphQLRefused(await overGraphQL(), 401, 'INVALID_API_KEY')
      const statements = await countStatements(service, async () => {
        assertRefused(await guess(service, '192.0.2.20'), 429, 'RATE_LIMIT_EXCEEDED')
        assert.is((await overGraphQL()).status, 429)
      })
      assert.is(statements, 0)
    })

    test('keeps nobody behind the same address from a key that has been used', async (service) => {
      const [known, fresh] = [await service.newProject(), await service.newProject()]
      const read = ({ id, secret: key }: typeof known) =>
        service.as(key).get(`/domains/project/${id}`, { headers: from('192.0.2.30') })
      for (let count = 0; count < 10; count += 1) assert.is((await read(known)).status, 200)
      for (let count = 0; count < 6; count += 1) await guess(service, '192.0.2.30')
      assert.is((await guess(service, '192.0.2.30')).status, 429)
      assert.is((await read(known)).status, 200)
      assert.is((await read(fresh)).status, 429, 'this process cannot know whether it is a key')
      service.clock.advance(MINUTE)
      assert.is((await read(fresh)).status, 200)
    })

    test('is not who has a key, though this process has not seen it', async (service) => {
      for (let count = 0; count < 8; count += 1) {
        const { id, secret: key } = await service.newProject()
        const answer = await service.as(key).get(`/domains/project/${id}`, { headers: from('192.0.2.35') })
        assert.is(answer.status, 200)
      }
    })

    test('may ask as often as he likes for what costs nothing', async ({ as, call }) => {
      const headers = from('192.0.2.40')
      for (let count = 0; count < 10; count += 1) {
        assert.is((await call('GET', '/health/live', { headers })).status, 200)
        assert.is((await call('GET', '/config', { headers })).status, 200)
        assertRefused(await call('GET', '/contacts', { headers }), 401, 'MISSING_AUTH')
        assertRefused(await as('sk_x').get('/contacts', { headers }), 401, 'INVALID_API_KEY')
        assert.is((await call('GET', '/unsubscribe/x', { headers })).status, 404)
      }
    })

    test('is one with who else has the same /64 of IPv6', async (service) => {
      for (let count = 1; count <= 5; count += 1) {
        assert.is((await ask(service, `2001:db8:0:1::${count}`)).status, 200)
      }
      assert.is((await ask(service, '2001:db8:0:1:ffff::1')).status, 429)
      assert.is((await ask(service, '2001:db8:0:2::1')).status, 200)
    })

    test('may follow a link that works, whoever else does from the same address, so many times a minute', async (service) => {
      const links = await Promise.all(
        ['a', 'b', 'c'].map((name) => newsletter(service, `${name}@example.org`)),
      )
      const follow = (token: string, address = '192.0.2.60') =>
        service.call('POST', `/unsubscribe/${token}`, { headers: from(address) })
      const forge = () => follow(randomBytes(64).toString('base64url'))
      for (let count = 0; count < 5; count += 1) {
        for (const { token } of links) assert.is((await follow(token)).status, 200)
      }
      assertRefused(await follow(links[0]?.token ?? '', '192.0.2.61'), 429, 'RATE_LIMIT_EXCEEDED')
      const { token: fresh } = await newsletter(service, 'd@example.org')
      for (let count = 0; count < 5; count += 1) assertRefused(await forge(), 404, 'RESOURCE_NOT_FOUND')
      assertRefused(await forge(), 429, 'RATE_LIMIT_EXCEEDED')
      assert.is((await follow(fresh, '192.0.2.62')).status, 200)
      service.clock.advance(MINUTE)
      assert.is((await follow(links[0]?.token ?? '')).status, 200)
    })

    test('is who a trusted proxy says, not what the client has sent it', async (service) => {
      for (let count = 1; count <= 5; count += 1) await ask(service, `203.0.113.${count}, 192.0.2.50`)
      assert.is((await ask(service, '203.0.113.9, 192.0.2.50')).status, 429)
      assert.is((await ask(service, '192.0.2.50, 127.0.0.9')).status, 429, 'through two trusted proxies')
      assert.is((await ask(service, 'no address')).status, 200)
    })
  },
)

scenario(
  'Without a trusted proxy',
  () => limited({ TRUSTED_PROXIES: '192.0.2.99' }),
  (test) => {
    test('nobody is believed who he says to be', async (service) => {
      for (let count = 1; count <= 5; count += 1) await ask(service, `192.0.2.${count}`)
      assert.is((await ask(service, '192.0.2.6')).status, 429)
    })
  },
)
