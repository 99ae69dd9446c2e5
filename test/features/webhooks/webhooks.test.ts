import * as assert from 'uvu/assert'
import { HOUR, MINUTE, SECOND } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { startService, until, withProject } from '../../support/service.ts'
import {
  CALL,
  callsOf,
  callWhen,
  data,
  endpointsOf,
  isSignedWith,
  newEndpoint,
  startWithReceiver,
  track,
} from './webhook-support.ts'

const DAY = 24 * HOUR

scenario(
  'A webhook endpoint',
  () => startWithReceiver(),
  (test) => {
    test('is told of the events that it asks for, in signed calls', async (service) => {
      const { receiver } = service
      const { secret } = await newEndpoint(service, `${receiver.url}/hook`, ['order.paid'])
      assert.match(secret, /^whsec_[\w+/]{43}=$/)
      await track(service, 'order.seen')
      await track(service, 'order.paid', { data: { amount: 7 } })
      const [call] = await until('it came', () => receiver.received.length > 0 && receiver.received)
      assert.is(call?.path, '/hook')
      assert.ok(call && isSignedWith(secret, call))
      const { type, timestamp, data: told } = JSON.parse(call.body)
      assert.is(type, 'order.paid')
      assert.ok(Math.abs(Date.parse(timestamp) - service.clock.now().getTime()) < HOUR)
      assert.equal([told.email, told.data.amount], ['ada@example.org', 7])
      const logged = await callWhen(service, ({ status }) => status === 'SENT')
      assert.equal(
        [logged.id, logged.eventName, logged.attempts, logged.dueAt],
        [call.id, 'order.paid', 1, null],
      )
      assert.equal(logged.body, call.body)
      assert.equal(
        logged.tries.map(({ status, answer }: { status: number; answer: string }) => [status, answer]),
        [[200, 'ok']],
      )
      assert.is((await callsOf(service)).length, 1)
      assert.is(receiver.received.length, 1)
    })
  },
)

scenario(
  'Families of events',
  () => startWithReceiver(),
  (test) => {
    test('are told as a whole', async (service) => {
      const { receiver, as, project } = service
      await newEndpoint(service, receiver.url, ['contact.*', 'email.*'])
      await track(service, 'order.paid', { subscribed: true })
      await track(service, 'order.paid', { subscribed: false })
      const sent = await as().post('/v1/send', {
        to: 'eve@example.org',
        from: `a@${project.domain}`,
        subject: 'Hi',
        body: '<p>Hi</p>',
      })
      assert.is(sent.status, 200, sent.text)
      const names = () => receiver.received.map(({ body }) => JSON.parse(body).type)
      await until(
        'they came',
        () => names().includes('email.sent') && names().includes('contact.unsubscribed'),
      )
      assert.not(names().includes('order.paid'))
    })
  },
)

scenario(
  'A call that fails',
  () => startWithReceiver(),
  (test) => {
    test('is tried eight times within about a day, with the same id, and can be made again', async (service) => {
      const { receiver, clock, as } = service
      receiver.answer(500, 'broken')
      await newEndpoint(service, receiver.url, ['order.paid'])
      await track(service, 'order.paid')
      const began = clock.now().getTime()
      for (let tries = 1; tries <= 8; tries += 1) {
        // The tries are read after the call, which may have ended in between.
        const isSettled = ({ dueAt }: { dueAt: string | null }) =>
          tries === 8 ? dueAt === null : dueAt !== null && Date.parse(dueAt) > clock.now().getTime()
        const { status, dueAt } = await callWhen(
          service,
          (call) => call.attempts === tries && call.tries.length === tries && isSettled(call),
        )
        assert.is(status, tries < 8 ? 'PENDING' : 'FAILED')
        if (dueAt !== null) clock.advance(Date.parse(dueAt) - clock.now().getTime() + SECOND)
      }
      const days = (clock.now().getTime() - began) / DAY
      assert.ok(days > 0.9 && days < 1.3, `${days} days`)
      assert.is(new Set(receiver.received.map(({ id }) => id)).size, 1)
      const [failed] = await callsOf(service, '(status: FAILED)')
      assert.is(failed.tries.at(-1).error, 'The answer was 500.')
      assert.is(failed.tries.at(-1).answer, 'broken')
      receiver.answer(204)
      const query = `mutation ($id: ID!) { replayWebhookCall(id: $id) { ${CALL} } }`
      await data(as().graphql(query, { id: failed.id }))
      const again = await callWhen(service, ({ status }) => status === 'SENT')
      assert.equal([again.attempts, again.tries.length], [1, 9])
      assert.is(receiver.received.at(-1)?.id, failed.id)
      const twice = await as().graphql(query, { id: failed.id })
      assert.is(twice.body.errors, undefined)
      const waiting = await as().graphql(query, { id: failed.id })
      if (waiting.body.errors) assert.is(waiting.body.errors[0].extensions.code, 'CONFLICT')
    })
  },
)

scenario(
  'An endpoint that is not there any more',
  () => startWithReceiver(),
  (test) => {
    test('is called no more after an answer of 410', async (service) => {
      const { receiver } = service
      receiver.answer(410)
      await newEndpoint(service, receiver.url, ['order.paid'])
      await track(service, 'order.paid')
      const [endpoint] = await until('it is stopped', async () => {
        const all = await endpointsOf(service)
        return all[0]?.enabled === false && all
      })
      assert.is(endpoint?.disabledReason, 'It answered 410: it wants no more calls.')
      const calls = receiver.received.length
      await track(service, 'order.paid')
      await callWhen(service, ({ status }) => status === 'FAILED')
      assert.is(receiver.received.length, calls)
    })
  },
)

scenario(
  'An endpoint that fails for days',
  () => startWithReceiver(),
  (test) => {
    test('is called no more, until somebody enables it', async (service) => {
      const { receiver, clock, as } = service
      receiver.answer(503)
      const { endpoint } = await newEndpoint(service, receiver.url, ['order.paid'])
      await track(service, 'order.paid')
      await until('it fails', async () => (await endpointsOf(service))[0]?.failingSince)
      clock.advance(5 * DAY - HOUR)
      await track(service, 'order.paid')
      await until('it is tried', async () => (await callsOf(service))[0]?.attempts === 1)
      assert.is((await endpointsOf(service))[0]?.enabled, true)
      clock.advance(2 * HOUR)
      await until('it is stopped', async () => (await endpointsOf(service))[0]?.enabled === false)
      receiver.answer(200)
      const query = `mutation ($id: ID!) { updateWebhookEndpoint(id: $id, input: { enabled: true }) {
      enabled failingSince disabledReason } }`
      assert.equal((await data(as().graphql(query, { id: endpoint.id }))).updateWebhookEndpoint, {
        ...{ enabled: true, failingSince: null, disabledReason: null },
      })
      await track(service, 'order.paid')
      await callWhen(service, ({ status }) => status === 'SENT')
    })
  },
)

scenario(
  'The secret of webhooks',
  () => startWithReceiver(),
  (test) => {
    test('is replaced with an overlap, and is not in the database in the clear', async (service) => {
      const { receiver, clock, as, sql } = service
      const { secret: first } = await newEndpoint(service, receiver.url, ['order.paid'])
      assert.is((await newEndpoint(service, `${receiver.url}/b`, ['other'])).secret, null)
      const query = `mutation { rotateWebhookSecret(input: { overlapHours: 2 }) { secret previousExpireAt } }`
      const { secret: second } = (await data(as().graphql(query))).rotateWebhookSecret
      const signedCall = async () => {
        const before = receiver.received.length
        await track(service, 'order.paid')
        return until('it came', () => receiver.received[before])
      }
      const overlapping = await signedCall()
      assert.ok(isSignedWith(first, overlapping) && isSignedWith(second, overlapping))
      clock.advance(2 * HOUR + MINUTE)
      const after = await signedCall()
      assert.ok(isSignedWith(second, after))
      assert.not(isSignedWith(first, after))
      const stored = JSON.stringify(await sql(`select encode(secret, 'escape') as text from webhook_secrets`))
      assert.not.match(stored, second.slice(6, 20))
    })
  },
)

scenario(
  'A service that calls only the public internet',
  () => startWithReceiver({ ALLOW_PRIVATE_WEBHOOKS: 'false' }),
  (test) => {
    test('refuses addresses of this machine, and says so in the log', async (service) => {
      const { receiver } = service
      await newEndpoint(service, receiver.url, ['order.paid'])
      await track(service, 'order.paid')
      const call = await callWhen(service, ({ status }) => status === 'FAILED')
      assert.match(call.tries[0].error, '127.0.0.1 is not an address of the public internet')
      assert.is(receiver.received.length, 0)
    })
  },
)

scenario(
  'Webhooks of projects',
  () => startWithReceiver(),
  (test) => {
    test('are kept apart', async (service) => {
      const { receiver, newProject } = service
      const other = withProject(service, await newProject())
      const { endpoint } = await newEndpoint(service, receiver.url, ['order.paid'])
      await track(other, 'order.paid')
      await track(service, 'order.paid')
      const call = await callWhen(service, ({ status }) => status === 'SENT')
      assert.is(receiver.received.length, 1)
      assert.equal(await callsOf(other), [])
      assert.equal(await endpointsOf(other), [])
      for (const query of [
        `{ webhookCall(id: "${call.id}") { id } }`,
        `mutation { replayWebhookCall(id: "${call.id}") { id } }`,
        `mutation { deleteWebhookEndpoint(id: "${endpoint.id}") { id } }`,
        `mutation { testWebhookEndpoint(id: "${endpoint.id}") { id } }`,
        `mutation { updateWebhookEndpoint(id: "${endpoint.id}", input: {}) { id } }`,
      ]) {
        const { body } = await other.as(other.project).graphql(query)
        assert.is(body.errors?.[0]?.extensions.code, 'RESOURCE_NOT_FOUND', query)
      }
    })
  },
)

scenario(
  'An endpoint',
  () => startService(),
  (test) => {
    test('needs an address and names', async (service) => {
      const create = (input: object) =>
        service
          .as()
          .graphql(
            'mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { secret } }',
            { input },
          )
      for (const input of [
        { url: 'ftp://x.example', eventNames: ['a'] },
        { url: 'https://user:pass@x.example', eventNames: ['a'] },
        { url: 'https://x.example', eventNames: [] },
        { url: 'https://x.example', eventNames: [''] },
        { url: `https://x.example/${'x'.repeat(2_048)}`, eventNames: ['a'] },
      ]) {
        const { body } = await create(input)
        assert.is(body.errors?.[0]?.extensions.code, 'VALIDATION_ERROR', JSON.stringify(body))
      }
    })

    test('goes with its interests; what waits for it is given up', async (service) => {
      const { endpoint } = await newEndpoint(service, 'https://x.example/', ['order.paid'])
      const interests = () => service.sql(`select name from interests where consumer = 'WEBHOOK'`)
      assert.equal(await interests(), [{ name: 'order.paid' }])
      await data(service.as().graphql(`mutation { deleteWebhookEndpoint(id: "${endpoint.id}") { id } }`))
      assert.equal(await interests(), [])
      assert.equal(await endpointsOf(service), [])
    })
  },
)
