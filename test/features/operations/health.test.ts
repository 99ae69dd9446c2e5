import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

const start = sharedStart(startService)

const ID = '01890000-0000-7000-8000-000000000001'

scenario('Health', start, (test) => {
  test('is live', async ({ call }) => {
    const answer = await call('GET', '/health/live')
    assert.is(answer.status, 200)
    assert.equal(answer.body, { status: 'ok' })
  })

  test('is ready with its database, its migrations and its queue', async ({ call }) => {
    const answer = await call('GET', '/health/ready')
    assert.is(answer.status, 200)
    assert.equal(answer.body, {
      status: 'ok',
      checks: { database: 'ok', migrations: 'ok', queue: 'ok', mail: 'ok' },
    })
  })

  test('is not ready while a migration is missing', async ({ call, sql }) => {
    await sql('create table kept as select * from _prisma_migrations')
    await sql('delete from _prisma_migrations')
    const answer = await call('GET', '/health/ready')
    assert.is(answer.status, 503)
    assert.equal(answer.body.checks, { database: 'ok', migrations: 'failed', queue: 'ok', mail: 'ok' })
    await sql('insert into _prisma_migrations select * from kept')
    assert.is((await call('GET', '/health/ready')).status, 200)
  })

  test('is not ready without the queue', async ({ call, sql }) => {
    await sql('alter schema pgboss rename to moved')
    const answer = await call('GET', '/health/ready')
    assert.is(answer.status, 503)
    assert.equal(answer.body.checks, { database: 'ok', migrations: 'ok', queue: 'failed', mail: 'ok' })
    await sql('alter schema moved rename to pgboss')
    assert.is((await call('GET', '/health/ready')).status, 200)
  })
})

const TOKEN = 'a-token-for-the-metrics'

scenario(
  'Metrics',
  () => startService({ METRICS_TOKEN: TOKEN }),
  (test) => {
    const proxied = { 'x-forwarded-for': '203.0.113.7' }
    const bearer = (token: string) => ({ ...proxied, authorization: `Bearer ${token}` })

    test('are there for this machine, and for who has the token', async ({ call }) => {
      for (const headers of [{}, bearer(TOKEN)]) {
        const answer = await call('GET', '/metrics', { headers })
        assert.is(answer.status, 200)
        assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/)
        assert.match(answer.text, /^# TYPE mailwright_http_request_duration_seconds histogram$/m)
      }
    })

    test('are not there for who comes through a proxy without it', async ({ call }) => {
      for (const headers of [
        proxied,
        { forwarded: 'for=203.0.113.7' },
        { 'x-real-ip': '203.0.113.7' },
        bearer(''),
        bearer(`${TOKEN}x`),
        { ...proxied, authorization: TOKEN },
      ]) {
        assertRefused(await call('GET', '/metrics', { headers }), 403, 'FORBIDDEN')
      }
    })

    test('count requests by the pattern of their route, never by ids', async ({ as, call, project }) => {
      for (const suffix of ['1', '2']) {
        await as(project).get(`/templates/${ID}${suffix}`)
        await call('GET', `/nothing-${suffix}-${ID}`)
      }
      await as(project.public).post('/v1/track', { email: 'a@example.org', event: ID })
      await call('GET', `/unsubscribe/${ID}`)
      const { text } = await call('GET', '/metrics')
      const countOf = (labels: string) =>
        Number(
          text
            .split('\n')
            .find((line) => line.includes(`_count{${labels}}`))
            ?.split(' ')[1] ?? 0,
        )
      assert.is(countOf('method="GET",route="/templates/:id",status="404"'), 2)
      assert.is(countOf('method="POST",route="/v1/track",status="200"'), 1)
      assert.is(countOf('method="GET",route="unmatched",status="404"'), 2)
      assert.not.ok(text.includes(ID))
      assert.not.ok(text.includes(project.id))
    })
  },
)

scenario('Metrics without a token', start, (test) => {
  test('are for this machine only', async ({ call }) => {
    assert.is((await call('GET', '/metrics')).status, 200)
    for (const authorization of ['Bearer ', 'Bearer null', 'Bearer undefined']) {
      const headers = { 'x-forwarded-for': '203.0.113.7', authorization }
      assertRefused(await call('GET', '/metrics', { headers }), 403, 'FORBIDDEN')
    }
  })
})
