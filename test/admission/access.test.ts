import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { rotateKeys, setProjectDisabled } from '../../src/features/projects/projects.ts'
import { capturedLog } from '../support/captured-log.ts'
import { sendBody } from '../support/mailing.ts'
import { openRaw } from '../support/raw-http.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { type Project, type Service, startService } from '../support/service.ts'

const start = sharedStart(startService)

const track = (email = 'ada@example.org') => ({ email, event: 'opened_app' })

const OPERATIONS = [
  ['POST', '/v1/send'],
  ['POST', '/v1/track'],
  ['POST', '/templates'],
  ['GET', '/templates/01890000-0000-7000-8000-000000000001'],
  ['POST', '/domains'],
  ['DELETE', '/domains/01890000-0000-7000-8000-000000000001'],
] as const

const hex = (character: string) => character.repeat(64)

const MALFORMED = [
  'Bearer',
  'Bearer ',
  'Bearer sk_',
  `Bearer sk_${hex('a').slice(1)}`,
  `Bearer sk_${hex('a')}a`,
  `Bearer sk_${hex('A')}`,
  `Bearer SK_${hex('a')}`,
  `Bearer xk_${hex('a')}`,
  `Bearer sk_${hex('a')} x`,
  `Basic sk_${hex('a')}`,
  `sk_${hex('a')}`,
  "Bearer ' or 1=1 --",
]

scenario('API keys', start, (test) => {
  test('without a key every operation is 401 MISSING_AUTH', async ({ call }) => {
    for (const [method, path] of OPERATIONS) {
      const error = assertRefused(await call(method, path), 401, 'MISSING_AUTH')
      assert.match(error.suggestion, /Authorization: Bearer/)
    }
  })

  test('what is no key, or nobody’s, is 401 INVALID_API_KEY', async ({ call }) => {
    for (const authorization of [...MALFORMED, `Bearer pk_${hex('0')}`, `Bearer sk_${hex('0')}`]) {
      for (const [method, path] of OPERATIONS) {
        const error = assertRefused(
          await call(method, path, { headers: { authorization } }),
          401,
          'INVALID_API_KEY',
        )
        assert.not.ok(JSON.stringify(error).includes(hex('a').slice(1)), 'the key is not repeated')
      }
    }
  })

  test('the scheme may be written in any case, with any blanks', async ({ call, project }) => {
    for (const authorization of [`bearer ${project.public}`, `BEARER   ${project.public}`]) {
      const answer = await call('POST', '/v1/track', { headers: { authorization }, body: track() })
      assert.is(answer.status, 200)
    }
  })

  test('a public key may only track', async ({ as, project }) => {
    for (const [method, path] of OPERATIONS.filter(([, path]) => path !== '/v1/track')) {
      assertRefused(await as(project.public).call(method, path), 401, 'INVALID_API_KEY')
    }
  })

  test('a secret key may not track', async ({ as, project, sql }) => {
    const answer = await as(project).post('/v1/track', track('secret@example.org'))
    assertRefused(answer, 401, 'INVALID_API_KEY')
    assert.is((await sql(`select from contacts where email = 'secret@example.org'`)).length, 0)
  })

  test('GraphQL refuses the same keys with the same codes', async ({ as, graphql, project }) => {
    const query = '{ template(id: "x") { id } }'
    assertGraphQLRefused(await graphql(query), 401, 'MISSING_AUTH')
    const unknown = await as(`sk_${hex('0')}`).graphql(query)
    assert.is(unknown.status, 401)
    assertGraphQLRefused(unknown, 401, 'INVALID_API_KEY')
    assertGraphQLRefused(await as(project.public).graphql(query), 401, 'INVALID_API_KEY')
    const mutation = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }'
    const tracked = await as(project).graphql(mutation, { input: track() })
    assertGraphQLRefused(tracked, 401, 'INVALID_API_KEY')
  })

  test('a key opens its own project only', async ({ as, project, newProject }) => {
    const other = await newProject()
    assert.is((await as(other).get(`/domains/project/${other.id}`)).status, 200)
    const foreign = await as(other).get(`/domains/project/${project.id}`)
    assertRefused(foreign, 404, 'RESOURCE_NOT_FOUND')
  })

  test('a refused key is told before the body is checked', async ({ as, call, project }) => {
    for (const body of ['{"email":', { email: 1 }, 'x'.repeat(3_000_000)]) {
      assertRefused(await call('POST', '/v1/track', { body }), 401, 'MISSING_AUTH')
      assertRefused(await as(project.public).post('/v1/send', body), 401, 'INVALID_API_KEY')
    }
  })

  test('a refused key is told before the body has come', async ({ url }) => {
    const connection = openRaw(url)
    connection.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
    assert.is((await connection.answer()).status, 401)
    connection.write(`${'x'.repeat(1000)}GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n`)
    assert.is((await connection.answer()).status, 200, 'the connection goes on after the unread body')
    connection.end()
  })

  test('keys are stored as hashes; the public one can be read', async ({ project, sql }) => {
    const [row] = await sql('select * from projects where id = $1', [project.id])
    const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')
    assert.is(row?.secret_hash.toString('hex'), sha256(project.secret))
    assert.is(row?.public_key_hash.toString('hex'), sha256(project.public))
    assert.is(row?.public_key, project.public)
    assert.is(row?.secret_last_four, project.secret.slice(-4))
  })

  test('no table holds a secret key', async ({ as, project, sql }) => {
    await as(project).post('/v1/send', sendBody(project), { headers: { 'idempotency-key': 'k' } })
    const tables = await sql<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    assert.ok(tables.length > 20)
    for (const { name } of tables) {
      const found = await sql(`select from ${name} as t where t::text like $1`, [
        `%${project.secret.slice(3)}%`,
      ])
      assert.is(found.length, 0, name)
    }
  })
})

scenario('Rotated keys', start, (test) => {
  const rotate = (service: Service, { id }: Project) => rotateKeys(service.ctx(), id)

  test('the old keys are refused at the next request, the new ones taken', async (service) => {
    const { as } = service
    const project = await service.newProject()
    assert.is((await as(project.public).post('/v1/track', track())).status, 200)
    assert.is((await as(project).post('/v1/send', sendBody(project))).status, 200)
    assert.is((await as(project).get(`/domains/project/${project.id}`)).status, 200)
    const keys = await rotate(service, project)
    const refused = await Promise.all([
      as(project.public).post('/v1/track', track()),
      as(project).post('/v1/send', sendBody(project)),
      as(project).get(`/domains/project/${project.id}`),
    ])
    for (const answer of refused) assertRefused(answer, 401, 'INVALID_API_KEY')
    assertGraphQLRefused(await as(project).graphql('{ __typename }'), 401, 'INVALID_API_KEY')
    assert.is((await as(keys.public).post('/v1/track', track())).status, 200)
    assert.is((await as(keys).post('/v1/send', sendBody(project))).status, 200)
  })

  test('a remembered key that was rotated gets nothing but 401', async (service) => {
    const { call, sql } = service
    const attempts = [
      { body: '{' },
      { body: { email: 'nobody' } },
      { body: track('late@example.org') },
      { body: track(), headers: { 'idempotency-key': 'first' } },
      { body: track(), headers: { 'idempotency-key': 'first', 'idempotency-replay': 'true' } },
      { body: track(), headers: { 'idempotency-key': '' } },
      { body: track('late@example.org'), headers: { 'idempotency-key': 'second' } },
    ]
    for (const attempt of attempts) {
      // A refusal makes the process forget the key, so each attempt has a project of its own.
      const project = await service.newProject()
      const first = { key: project.public, headers: { 'idempotency-key': 'first' }, body: track() }
      assert.is((await call('POST', '/v1/track', first)).status, 200)
      await rotate(service, project)
      const answer = await call('POST', '/v1/track', { key: project.public, ...attempt })
      assertRefused(answer, 401, 'INVALID_API_KEY')
    }
    assert.is((await sql(`select from contacts where email = 'late@example.org'`)).length, 0)
    assert.is((await sql(`select from idempotency_keys where key = 'second'`)).length, 0)
  })

  test('a remembered key that was rotated records no names', async (service) => {
    const { as, sql } = service
    const project = await service.newProject()
    assert.is((await as(project.public).post('/v1/track', track())).status, 200)
    await rotate(service, project)
    const body = { ...track(), event: 'late_event', data: { lateField: 1 } }
    assertRefused(await as(project.public).post('/v1/track', body), 401, 'INVALID_API_KEY')
    assert.is((await sql(`select from event_names where name = 'late_event'`)).length, 0)
    assert.is((await sql(`select from contact_fields where name = 'lateField'`)).length, 0)
  })

  test('a remembered secret key that was rotated sends nothing', async (service) => {
    const { as, call, sql } = service
    for (const extra of [{}, { headers: { 'idempotency-key': 'k' } }, { body: { to: 1 } }]) {
      const project = await service.newProject()
      assert.is((await as(project).post('/v1/send', sendBody(project))).status, 200)
      await rotate(service, project)
      const answer = await call('POST', '/v1/send', {
        key: project.secret,
        body: sendBody(project),
        ...extra,
      })
      assertRefused(answer, 401, 'INVALID_API_KEY')
      assert.is((await sql('select from emails where project_id = $1', [project.id])).length, 1)
    }
  })
})

scenario('A disabled project', start, (test) => {
  const disable = (service: Service, { id }: Project, reason: string | null = 'EMAIL_REPUTATION') =>
    setProjectDisabled(service.ctx(), id, reason)

  test('reads, and every write is 403 PROJECT_DISABLED', async (service) => {
    const { as } = service
    const project = await service.newProject()
    const template = { name: 'a', subject: 'a', body: 'a', from: `a@${project.domain}` }
    const made = await as(project).post('/templates', template)
    assert.is(made.status, 201)
    await disable(service, project)
    const read = await as(project).get(`/templates/${made.body.id}`)
    assert.is(read.status, 200)
    const query = `{ template(id: "${made.body.id}") { name } }`
    assert.equal((await as(project).graphql(query)).body.data, { template: { name: 'a' } })
    for (const [method, path, key, body] of [
      ['POST', '/v1/send', project.secret, sendBody(project)],
      ['POST', '/v1/track', project.public, track()],
      ['POST', '/templates', project.secret, template],
      ['POST', '/templates', project.secret, {}],
      ['DELETE', `/domains/${project.id}`, project.secret, undefined],
    ] as const) {
      const error = assertRefused(await as(key).call(method, path, body), 403, 'PROJECT_DISABLED')
      assert.equal(error.details, { reason: 'EMAIL_REPUTATION' })
    }
    const mutation = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }'
    const tracked = await as(project.public).graphql(mutation, { input: track() })
    assertGraphQLRefused(tracked, 403, 'PROJECT_DISABLED')
  })

  test('is refused also when its key is remembered from before, and taken once it is enabled again', async (service) => {
    const { as, sql } = service
    const project = await service.newProject()
    const requests = [
      () => as(project.public).post('/v1/track', track()),
      () => as(project).post('/v1/send', sendBody(project)),
      () => as(project.public).post('/v1/track', track(), { headers: { 'idempotency-key': 'a' } }),
    ]
    for (const request of requests.slice(0, 2)) assert.is((await request()).status, 200)
    await disable(service, project)
    for (const request of requests) {
      const error = assertRefused(await request(), 403, 'PROJECT_DISABLED')
      assert.equal(error.details, { reason: 'EMAIL_REPUTATION' })
    }
    assert.is(
      (await sql(`select from events where project_id = $1 and name = 'opened_app'`, [project.id])).length,
      1,
    )
    assert.is((await sql('select from emails where project_id = $1', [project.id])).length, 1)
    await disable(service, project, null)
    for (const request of requests) assert.is((await request()).status, 200)
  })
})

const acceptingSecretKeys = () => startService({ TRACK_ACCEPTS_SECRET_KEY: 'true' })

scenario('TRACK_ACCEPTS_SECRET_KEY=true', acceptingSecretKeys, (test) => {
  test('lets a secret key track, and nothing else changes', async (service) => {
    const { as, project, ctx } = service
    for (const key of [project.secret, project.public]) {
      assert.is((await as(key).post('/v1/track', track())).status, 200)
    }
    const mutation = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }'
    const tracked = await as(project).graphql(mutation, { input: track() })
    assert.ok(tracked.body.data.trackEvent.event)
    const sent = await as(project.public).post('/v1/send', sendBody(project))
    assertRefused(sent, 401, 'INVALID_API_KEY')
    await rotateKeys(ctx(), project.id)
    assertRefused(await as(project).post('/v1/track', track()), 401, 'INVALID_API_KEY')
  })
})

async function startLogged() {
  const captured = capturedLog()
  const service = await startService({}, { log: captured.log })
  return { ...service, captured }
}

scenario('The log', startLogged, (test) => {
  const MARKER = 'marker-of-a-body'

  test('has a line per request, without keys, bodies and query strings', async (service) => {
    const { as, graphql, project, captured } = service
    const key = project.secret
    const invalid = await as(key).post('/v1/send', { to: MARKER, subject: MARKER })
    assertRefused(invalid, 422, 'VALIDATION_ERROR')
    await as(key).post(`/v1/send?key=${MARKER}`, `{"to":"${MARKER}`)
    await as(key).post('/v1/send', sendBody(project, { subject: MARKER }))
    await as(project.public).post('/v1/track', { ...track(), data: { MARKER } })
    await as(key).get(`/templates/${MARKER}`)
    await graphql('mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }', {
      input: { ...track(), data: { MARKER } },
    })
    await as(`${key}f`).get(`/domains/project/${project.id}`)
    const line = captured.lines().find(({ requestId }) => requestId === invalid.body.error.requestId)
    assert.is(line?.route, '/v1/send')
    assert.is(line?.status, 422)
    for (const secret of [MARKER, project.secret.slice(3), project.public.slice(3)]) {
      assert.not.ok(captured.text().includes(secret), secret)
    }
  })

  test('names the cause of an unexpected error by its request id, without the row it is about', async (service) => {
    const { as, project, captured, sql } = service
    await sql(`alter table contacts add constraint broken check (email <> 'broken@example.org')`)
    const body = { ...track('broken@example.org'), data: { text: MARKER } }
    const rest = await as(project.public).post('/v1/track', body)
    const error = assertRefused(rest, 500, 'INTERNAL_SERVER_ERROR')
    const mutation = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }'
    const answer = await as(project.public).graphql(mutation, { input: body })
    const extensions = assertGraphQLRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
    for (const text of [rest.text, answer.text]) assert.not.match(text, /broken|constraint|contacts/)
    for (const { requestId } of [error, extensions]) {
      const line = captured.lines().find((entry) => entry.requestId === requestId && entry.err)
      assert.match(JSON.stringify(line?.err), /violates check constraint/)
    }
    assert.not.ok(captured.text().includes(MARKER))
    await sql('alter table contacts drop constraint broken')
  })
})
