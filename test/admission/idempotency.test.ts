import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { HOUR, MINUTE, SECOND } from '../support/clock.ts'
import { hold } from '../support/held-lock.ts'
import { sendBody } from '../support/mailing.ts'
import { openRaw } from '../support/raw-http.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { type Answer, type Body, type Service, startService, until } from '../support/service.ts'

const start = sharedStart(startService)

const TRACK = { email: 'ada@example.org', event: 'opened_app', data: { plan: 'pro' } }
const REPLAY = { 'idempotency-replay': 'true' }
const TRACK_MUTATION = `mutation ($input: TrackEventInput!, $key: String, $replay: Boolean) {
  trackEvent(input: $input, idempotencyKey: $key, idempotencyReplay: $replay) { contact event timestamp }
}`

/** Requests of one project with Idempotency-Keys. */
async function keyed(service: Service) {
  const { as, sql } = service
  const project = await service.newProject()
  const count = async (query: string) => (await sql(query, [project.id])).length
  return {
    project,
    track: (key: string, body: unknown = TRACK, headers = {}): Promise<Answer> =>
      as(project.public).post('/v1/track', body, { headers: { 'idempotency-key': key, ...headers } }),
    send: (key: string, body: unknown = sendBody(project), headers = {}): Promise<Answer> =>
      as(project).post('/v1/send', body, { headers: { 'idempotency-key': key, ...headers } }),
    trackByGraphQL: (key: string, input: unknown = TRACK, replay?: boolean): Promise<Answer> =>
      as(project.public).graphql(TRACK_MUTATION, { input, key, replay }),
    /** Without those of the delivery. */
    events: () => count(`select from events where project_id = $1 and name = 'opened_app'`),
    emails: () => count('select from emails where project_id = $1'),
    rows: (key: string) =>
      sql('select * from idempotency_keys where project_id = $1 and key = $2', [project.id, key]),
  }
}

function assertReused(
  answer: Answer,
  details: { key: string; request: string; status: number | null },
): Body {
  const error = assertRefused(answer, 409, 'IDEMPOTENCY_KEY_REUSED')
  assert.is(error.details.key, details.key)
  assert.is(error.details.originalRequest, details.request)
  assert.is(error.details.originalStatusCode, details.status)
  assert.is(new Date(error.details.originalRequestAt).toISOString(), error.details.originalRequestAt)
  return error
}

scenario('A repeated Idempotency-Key', start, (test) => {
  test('is 409 with what the first request was, and does nothing', async (service) => {
    const { track, send, events, emails, project } = await keyed(service)
    const before = service.clock.now().getTime()
    const first = await track('order-1')
    assert.is(first.status, 200)
    const error = assertReused(await track('order-1'), {
      key: 'order-1',
      request: 'POST /v1/track',
      status: 200,
    })
    const at = Date.parse(error.details.originalRequestAt)
    assert.ok(at >= before && at <= Date.parse(first.body.data.timestamp))
    assertReused(await track('order-1', { ...TRACK, event: 'other' }), {
      key: 'order-1',
      request: 'POST /v1/track',
      status: 200,
    })
    assert.is(await events(), 1)
    assert.is((await send('mail-1')).status, 200)
    assertReused(await send('mail-1', sendBody(project, { to: 'bob@example.org' })), {
      key: 'mail-1',
      request: 'POST /v1/send',
      status: 200,
    })
    assert.is(await emails(), 1)
  })

  test('is one key for both endpoints', async (service) => {
    const { track, send, emails, events } = await keyed(service)
    await track('shared-1')
    assertReused(await send('shared-1'), { key: 'shared-1', request: 'POST /v1/track', status: 200 })
    assertReused(await send('shared-1', undefined, REPLAY), {
      key: 'shared-1',
      request: 'POST /v1/track',
      status: 200,
    })
    await send('shared-2')
    assert.is((await track('shared-2')).status, 409)
    assert.equal([await emails(), await events()], [1, 1])
  })

  test('tells the public key nothing of what the secret key did', async (service) => {
    const { track, trackByGraphQL, send, events } = await keyed(service)
    await send('mail')
    for (const headers of [{}, REPLAY]) {
      const error = assertRefused(await track('mail', TRACK, headers), 409, 'IDEMPOTENCY_KEY_REUSED')
      assert.is(error.details, undefined)
      assert.not.match(JSON.stringify(error), /send/)
    }
    const { details } = assertGraphQLRefused(
      await trackByGraphQL('mail', TRACK, true),
      409,
      'IDEMPOTENCY_KEY_REUSED',
    )
    assert.is(details, undefined)
    assert.is(await events(), 0)
    assertReused(await send('mail'), { key: 'mail', request: 'POST /v1/send', status: 200 })
  })

  test('is free when the first request was refused before anything was done', async (service) => {
    const { project, send } = await keyed(service)
    const head = (...more: string[]) =>
      ['POST /v1/send HTTP/1.1', 'Host: x', `Authorization: Bearer ${project.secret}`, ...more, '', ''].join(
        '\r\n',
      )
    // Takes all the room that a project has for bodies, and sends nothing.
    const greedy = openRaw(service.url)
    greedy.write(head(`Content-Length: ${40 * 1024 * 1024}`))
    const text = JSON.stringify({ ...sendBody(project), body: 'x'.repeat(100_000) })
    // A request that comes before the greedy one is done, and uses its key up.
    let tries = 0
    const answer = await until('there to be no room', async () => {
      tries += 1
      const connection = openRaw(service.url)
      connection.write(head(`Idempotency-Key: refused-${tries}`, 'Transfer-Encoding: chunked'))
      connection.write(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
      const { status, body } = await connection.answer()
      connection.end()
      return status === 503 && JSON.parse(body)
    })
    assert.is(answer.error.code, 'SERVICE_UNAVAILABLE')
    greedy.end()
    assert.is((await send(`refused-${tries}`)).status, 200)
    assert.is((await send(`refused-${tries}`)).status, 409)
  })

  test('is refused before the input is read, through both doors', async (service) => {
    const { project, track, trackByGraphQL } = await keyed(service)
    assert.is((await track('taken')).status, 200)
    const connection = openRaw(service.url)
    connection.write(
      `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\nIdempotency-Key: taken\r\nContent-Length: 100000\r\n\r\n`,
    )
    assert.is((await connection.answer()).status, 409)
    connection.end()
    const unchecked = { ...TRACK, email: 'nobody' }
    assertGraphQLRefused(await trackByGraphQL('taken', unchecked), 409, 'IDEMPOTENCY_KEY_REUSED')
    assertGraphQLRefused(await trackByGraphQL('free', unchecked), 422, 'VALIDATION_ERROR')
    assert.is((await track('free')).status, 200)
  })

  test('belongs to its project', async (service) => {
    const [one, other] = [await keyed(service), await keyed(service)]
    assert.is((await one.track('same')).status, 200)
    assert.is((await other.track('same')).status, 200)
    assert.is((await one.track('same')).status, 409)
  })

  test('is 409 without a status while the first request runs', async (service) => {
    const { track, events } = await keyed(service)
    const lock = await hold(service.databaseUrl, 'lock table events in exclusive mode')
    const first = track('slow')
    await lock.waiters(1)
    for (const headers of [{}, REPLAY]) {
      assertReused(await track('slow', TRACK, headers), {
        key: 'slow',
        request: 'POST /v1/track',
        status: null,
      })
    }
    await lock.release()
    assert.is((await first).status, 200)
    assert.is(await events(), 1)
  })

  test('lets one of 50 requests at once through', async (service) => {
    const { track, send, events, emails } = await keyed(service)
    for (const [request, count] of [
      [() => track('race-1'), events],
      [() => send('race-2'), emails],
    ] as const) {
      const answers = await Promise.all(Array.from({ length: 50 }, request))
      const statuses = answers.map(({ status }) => status)
      assert.is(statuses.filter((status) => status === 200).length, 1)
      assert.is(statuses.filter((status) => status === 409).length, 49)
      assert.is(await count(), 1)
    }
  })

  test('may have 1 to 255 printable ASCII characters', async (service) => {
    const { track, trackByGraphQL, events } = await keyed(service)
    const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('')
    for (const key of ['x', 'k'.repeat(255), `a${printable}b`, '0']) {
      assert.is((await track(key)).status, 200, key)
      assert.is((await track(key)).status, 409, key)
    }
    for (const key of ['', 'k'.repeat(256), 'clé']) {
      assertRefused(await track(key), 400, 'INVALID_IDEMPOTENCY_KEY')
      assertGraphQLRefused(await trackByGraphQL(key), 400, 'INVALID_IDEMPOTENCY_KEY')
    }
    for (const key of ['a\u0000b', 'a\nb', 'a\tb', 'a\u007fb', '\ud800', '鍵']) {
      assertGraphQLRefused(await trackByGraphQL(key), 400, 'INVALID_IDEMPOTENCY_KEY')
    }
    assert.is(await events(), 4)
  })

  test('is refused with control characters in the header', async (service) => {
    const { project, events } = await keyed(service)
    const body = JSON.stringify(TRACK)
    for (const [key, code] of [
      ['a\tb', 'INVALID_IDEMPOTENCY_KEY'],
      ['a\x7fb', 'BAD_REQUEST'],
      ['a\x01b', 'BAD_REQUEST'],
    ]) {
      const connection = openRaw(service.url)
      connection.write(
        `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      const answer = await connection.answer()
      assert.is(answer.status, 400)
      assert.is(JSON.parse(answer.body).error.code, code)
      connection.end()
    }
    assert.is(await events(), 0)
  })

  test('is free again after 24 hours', async (service) => {
    const { track, events } = await keyed(service)
    await track('daily')
    service.clock.advance(24 * HOUR - 30 * SECOND)
    assert.is((await track('daily')).status, 409)
    service.clock.advance(30 * SECOND)
    assert.is((await track('daily')).status, 200)
    const error = assertReused(await track('daily'), { key: 'daily', request: 'POST /v1/track', status: 200 })
    assert.ok(service.clock.now().getTime() - Date.parse(error.details.originalRequestAt) < MINUTE)
    assert.is(await events(), 2)
  })

  test('of a process that died is free again after two minutes', async (service) => {
    const { track, events, project, rows } = await keyed(service)
    await service.sql(
      `insert into idempotency_keys (project_id, key, holder, request, created_at)
       values ($1, 'orphan', $2, 'POST /v1/track', $3)`,
      [project.id, randomUUID(), service.clock.now()],
    )
    const running = { key: 'orphan', request: 'POST /v1/track', status: null }
    assertReused(await track('orphan'), running)
    service.clock.advance(2 * MINUTE - 30 * SECOND)
    assertReused(await track('orphan', TRACK, REPLAY), running)
    service.clock.advance(30 * SECOND)
    assert.is((await track('orphan')).status, 200)
    assert.is((await rows('orphan'))[0]?.status_code, 200)
    assert.is(await events(), 1)
  })

  test('that a repeat has taken over lets the late request do nothing', async (service) => {
    const { track, events, rows } = await keyed(service)
    const eventsLock = await hold(service.databaseUrl, 'lock table events in exclusive mode')
    const late = track('overtaken')
    await eventsLock.waiters(1)
    // The repeat has the row, but has not committed, when the late request gets to its statement.
    const takeover = await hold(
      service.databaseUrl,
      `update idempotency_keys set holder = '01890000-0000-7000-8000-000000000001' where key = 'overtaken'`,
    )
    await eventsLock.release()
    await takeover.waiters(1)
    await takeover.release('commit')
    assertRefused(await late, 409, 'CONFLICT')
    assert.is(await events(), 0)
    assert.is((await rows('overtaken'))[0]?.status_code, null, 'the reservation stays with the repeat')
  })
})

scenario('An answer that is', start, (test) => {
  test('4xx releases the key', async (service) => {
    const { track, send, project, rows } = await keyed(service)
    const refusals: [() => Promise<Answer>, number][] = [
      [() => track('k', {}), 422],
      [() => track('k', '{"email":'), 400],
      [() => track('k', '[]'), 400],
      [() => track('k', 'x'.repeat(2_000_000)), 413],
      [() => track('k', 'text', { 'content-type': 'text/plain' }), 415],
      [() => track('k', { ...TRACK, event: 'email.sent' }), 422],
      [() => track('k', { ...TRACK, data: { text: 'x'.repeat(70_000) } }), 422],
      [() => send('k', { ...sendBody(project), from: 'a@unverified.example' }), 403],
      [() => send('k', { ...sendBody(project), template: randomUUID() }), 404],
    ]
    for (const [request, status] of refusals) {
      assert.is((await request()).status, status)
      assert.equal(await rows('k'), [])
    }
    assert.is((await track('k')).status, 200)
  })

  test('refused to a client that hung up in the middle of its body releases the key', async (service) => {
    const { track, project, rows } = await keyed(service)
    const connection = openRaw(service.url)
    connection.write(
      `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\nIdempotency-Key: cut\r\nContent-Length: 100\r\n\r\n{"email"`,
    )
    await untilRows(() => rows('cut'), 1)
    connection.end()
    await untilRows(() => rows('cut'), 0)
    assert.is((await track('cut')).status, 200)
  })

  test('5xx keeps the key, and is given again', async (service) => {
    const { track, events } = await keyed(service)
    await service.sql(
      `alter table contacts add constraint broken check (email <> 'ada@example.org') not valid`,
    )
    const first = await track('broken')
    assertRefused(first, 500, 'INTERNAL_SERVER_ERROR')
    await service.sql('alter table contacts drop constraint broken')
    const kept = { key: 'broken', request: 'POST /v1/track', status: 500 }
    assertReused(await track('broken'), kept)
    const replayed = await track('broken', TRACK, REPLAY)
    const error = assertRefused(replayed, 500, 'INTERNAL_SERVER_ERROR')
    assert.is(error.message, first.body.error.message)
    assert.is(replayed.headers.get('idempotency-replayed'), 'true')
    assertReused(await track('broken', { ...TRACK, event: 'other' }, REPLAY), kept)
    assert.is(await events(), 0)
  })
})

async function untilRows(read: () => Promise<unknown[]>, count: number): Promise<void> {
  await until(`${count} rows`, async () => (await read()).length === count)
}

scenario('Idempotency-Replay: true', start, (test) => {
  test('gives the first answer again, byte for byte, and does nothing', async (service) => {
    const { track, send, events, emails, project } = await keyed(service)
    const many = sendBody(project, { to: ['ada@example.org', { name: 'Bob', email: 'bob@example.org' }] })
    for (const first of [await track('t'), await send('s', many)]) {
      assert.is(first.status, 200)
      assert.is(first.headers.get('idempotency-replayed'), null)
      service.clock.advance(HOUR)
      const again = first.body.data.event ? await track('t', TRACK, REPLAY) : await send('s', many, REPLAY)
      assert.is(again.status, 200)
      assert.is(again.text, first.text)
      assert.is(again.headers.get('content-type'), first.headers.get('content-type'))
      assert.is(again.headers.get('idempotency-replayed'), 'true')
    }
    assert.equal([await events(), await emails()], [1, 2])
  })

  test('compares what the body says, not how it is written', async (service) => {
    const { track } = await keyed(service)
    const first = await track('k')
    const written = `{ "data": {"plan":"pro"},\n "unknown": 1, "event": "opened_app", "email": " ADA@example.org" }`
    assert.is((await track('k', written, REPLAY)).text, first.text)
  })

  test('is 409 with another body', async (service) => {
    const { track, events } = await keyed(service)
    await track('k')
    const reused = { key: 'k', request: 'POST /v1/track', status: 200 }
    for (const body of [
      { ...TRACK, event: 'other' },
      { ...TRACK, email: 'bob@example.org' },
      { ...TRACK, subscribed: true },
      { ...TRACK, data: { plan: 'pro', seats: 1 } },
      { ...TRACK, data: undefined },
    ]) {
      assertReused(await track('k', body, REPLAY), reused)
    }
    assertRefused(await track('k', { email: 1 }, REPLAY), 422, 'VALIDATION_ERROR')
    assert.is((await track('k', TRACK, REPLAY)).status, 200, 'the key is kept')
    assert.is(await events(), 1)
  })

  test('is asked for with the value true only', async (service) => {
    const { track } = await keyed(service)
    await track('k')
    for (const value of ['false', '1', '']) {
      const answer = await track('k', TRACK, { 'idempotency-replay': value })
      assertReused(answer, { key: 'k', request: 'POST /v1/track', status: 200 })
    }
  })

  test('changes nothing for a first request', async (service) => {
    const { track, events } = await keyed(service)
    const first = await track('k', TRACK, REPLAY)
    assert.is(first.status, 200)
    assert.is(first.headers.get('idempotency-replayed'), null)
    assert.is(await events(), 1)
  })
})

scenario('idempotencyKey in GraphQL', start, (test) => {
  test('is 409 when repeated, with the same details', async (service) => {
    const { trackByGraphQL, events } = await keyed(service)
    const first = await trackByGraphQL('k')
    assert.ok(first.body.data.trackEvent.event, first.text)
    const { details } = assertGraphQLRefused(await trackByGraphQL('k'), 409, 'IDEMPOTENCY_KEY_REUSED')
    assert.is(details.key, 'k')
    assert.is(details.originalRequest, 'POST /v1/track')
    assert.is(details.originalStatusCode, 200)
    assert.is(await events(), 1)
  })

  test('is the same key as the header, and replays through either door', async (service) => {
    const { track, trackByGraphQL, events } = await keyed(service)
    const rest = await track('a')
    assertGraphQLRefused(await trackByGraphQL('a'), 409, 'IDEMPOTENCY_KEY_REUSED')
    assert.equal((await trackByGraphQL('a', TRACK, true)).body.data.trackEvent, rest.body.data)
    const graphql = await trackByGraphQL('b')
    assertReused(await track('b'), { key: 'b', request: 'POST /v1/track', status: 200 })
    const replayed = await track('b', TRACK, REPLAY)
    assert.equal(replayed.body.data, graphql.body.data.trackEvent)
    assert.is((await trackByGraphQL('b', TRACK, true)).text, graphql.text)
    const other = await trackByGraphQL('b', { ...TRACK, event: 'other' }, true)
    assertGraphQLRefused(other, 409, 'IDEMPOTENCY_KEY_REUSED')
    assert.is(await events(), 2)
  })

  test('is released by what the caller can mend', async (service) => {
    const { trackByGraphQL } = await keyed(service)
    const reserved = await trackByGraphQL('k', { ...TRACK, event: 'email.sent' })
    assertGraphQLRefused(reserved, 422, 'VALIDATION_ERROR')
    assert.ok((await trackByGraphQL('k')).body.data.trackEvent.event)
  })

  test('guards sendEmail too', async (service) => {
    const { project, send, emails } = await keyed(service)
    const mutation = `mutation ($input: SendEmailInput!, $key: String, $replay: Boolean) {
      sendEmail(input: $input, idempotencyKey: $key, idempotencyReplay: $replay) {
        emails { contact { id email } email } timestamp
      }
    }`
    const run = (replay: boolean) =>
      service.as(project).graphql(mutation, { input: sendBody(project), key: 'k', replay })
    const first = await run(false)
    assertGraphQLRefused(await run(false), 409, 'IDEMPOTENCY_KEY_REUSED')
    assert.is((await run(true)).text, first.text)
    assert.equal((await send('k', undefined, REPLAY)).body.data, first.body.data.sendEmail)
    assert.is(await emails(), 1)
  })

  test('keeps the key of a failure, as over REST', async (service) => {
    const { trackByGraphQL, track } = await keyed(service)
    await service.sql(
      `alter table contacts add constraint broken check (email <> 'ada@example.org') not valid`,
    )
    assertGraphQLRefused(await trackByGraphQL('k'), 500, 'INTERNAL_SERVER_ERROR')
    await service.sql('alter table contacts drop constraint broken')
    assertGraphQLRefused(await trackByGraphQL('k'), 409, 'IDEMPOTENCY_KEY_REUSED')
    assertGraphQLRefused(await trackByGraphQL('k', TRACK, true), 500, 'INTERNAL_SERVER_ERROR')
    assertRefused(await track('k', TRACK, REPLAY), 500, 'INTERNAL_SERVER_ERROR')
  })
})

const acceptingSecret = () => startService({ TRACK_ACCEPTS_SECRET_KEY: 'true' })

scenario('Tracking with both keys', acceptingSecret, (test) => {
  test('gives the public key no answer that the secret key got', async (service) => {
    const { track, project, events } = await keyed(service)
    const trackAsServer = (headers: Record<string, string>) =>
      service.as(project).post('/v1/track', TRACK, { headers })
    assert.is((await trackAsServer({ 'idempotency-key': 'k' })).status, 200)
    const error = assertRefused(await track('k', TRACK, REPLAY), 409, 'IDEMPOTENCY_KEY_REUSED')
    assert.is(error.details, undefined)
    await track('p')
    const replayed = await trackAsServer({ 'idempotency-key': 'p', ...REPLAY })
    assert.is(replayed.headers.get('idempotency-replayed'), 'true')
    assert.is(await events(), 2)
  })
})

const impatient = () =>
  startService({ IDEMPOTENCY_TTL_HOURS: '1' }, { reach: (url) => `${url}?statement_timeout=500` })

scenario('Idempotency with other settings', impatient, (test) => {
  test('keeps keys for IDEMPOTENCY_TTL_HOURS', async (service) => {
    const { track } = await keyed(service)
    await track('k')
    service.clock.advance(HOUR - 30 * SECOND)
    assert.is((await track('k')).status, 409)
    service.clock.advance(30 * SECOND)
    assert.is((await track('k')).status, 200)
  })

  test('keeps the key of a 503, and gives that again', async (service) => {
    const { track, events } = await keyed(service)
    const lock = await hold(service.databaseUrl, 'lock table events in exclusive mode')
    const first = await track('k')
    assertRefused(first, 503, 'SERVICE_UNAVAILABLE')
    await lock.release()
    assertReused(await track('k'), { key: 'k', request: 'POST /v1/track', status: 503 })
    const replayed = await track('k', TRACK, REPLAY)
    assertRefused(replayed, 503, 'SERVICE_UNAVAILABLE')
    assert.is(replayed.headers.get('idempotency-replayed'), 'true')
    assert.is(await events(), 0)
  })
})
