import * as assert from 'uvu/assert'
import { type DatabaseProxy, databaseProxy } from '../support/database-proxy.ts'
import { hold } from '../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, type Service, startService, until } from '../support/service.ts'

const TRACK = { email: 'ada@example.org', event: 'opened_app' }
const ID = '01890000-0000-7000-8000-000000000001'

function assertUnavailable(answer: Answer): void {
  const error = assertRefused(answer, 503, 'SERVICE_UNAVAILABLE')
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  assert.not.match(JSON.stringify(error), /ECONN|127\.0\.0\.1|timeout|postgres|statement/i)
}

async function startProxied(): Promise<Service & { proxy: DatabaseProxy }> {
  const proxy = await databaseProxy(process.env.TEST_DATABASE_URL ?? '')
  const service = await startService({ DATABASE_STATEMENT_TIMEOUT_SECONDS: '5' }, { reach: proxy.through })
  const stop = async () => {
    await proxy.mend()
    await service.stop()
    await proxy.stop()
  }
  return { ...service, proxy, stop }
}

/** One request through each kind of door. */
const requests = ({ as, project }: Service): (() => Promise<Answer>)[] => [
  () => as(project.public).post('/v1/track', TRACK),
  () => as(project).post('/v1/send', { to: 'a@example.org', from: 'a@b.co', subject: 's', body: 'b' }),
  () => as(project).get(`/templates/${ID}`),
  () => as(project).graphql(`{ template(id: "${ID}") { id } }`),
]

scenario('A database that is away', startProxied, (test) => {
  test('makes every request 503 with Retry-After, and none once it is back', async (service) => {
    const { proxy, call } = service
    const all = requests(service)
    const usual = (await Promise.all(all.map((request) => request()))).map(({ status }) => status)
    assert.equal(usual, [200, 403, 404, 200])
    await proxy.cut()
    const [track, send, read, query] = await Promise.all(all.map((request) => request()))
    assert.ok(track && send && read && query)
    for (const answer of [track, send, read]) assertUnavailable(answer)
    assert.is(query.status, 503)
    assertGraphQLRefused(query, 503, 'SERVICE_UNAVAILABLE')
    assert.ok(query.headers.get('retry-after'))
    assert.is((await call('GET', '/health/live')).status, 200)
    const ready = await call('GET', '/health/ready')
    assert.is(ready.status, 503)
    assert.equal(ready.body, {
      status: 'unavailable',
      checks: { database: 'failed', migrations: 'failed', queue: 'failed', mail: 'failed' },
    })
    await proxy.mend()
    await until(
      'the service to be ready again',
      async () => (await call('GET', '/health/ready')).status === 200,
    )
    assert.equal(
      (await Promise.all(all.map((request) => request()))).map(({ status }) => status),
      usual,
    )
  })

  test('that goes away in the middle of requests fails them with 503, not with 500', async (service) => {
    const { proxy, call } = service
    const all = requests(service)
    const running = Array.from({ length: 60 }, (_, index) => all[index % all.length]?.())
    await until('some to be answered', async () => (await Promise.race(running)) !== undefined)
    await proxy.cut()
    const statuses = (await Promise.all(running)).map((answer) => answer?.status)
    for (const status of statuses) assert.ok([200, 403, 404, 503].includes(status ?? 0), String(status))
    await proxy.mend()
    await until(
      'the service to be ready again',
      async () => (await call('GET', '/health/ready')).status === 200,
    )
  })

  test('that takes connections and says nothing fails requests with 503', async (service) => {
    const { proxy, call } = service
    proxy.hang()
    const [track, send, read] = await Promise.all(requests(service).map((request) => request()))
    assert.ok(track && send && read)
    for (const answer of [track, send, read]) assertUnavailable(answer)
    await proxy.mend()
    await until(
      'the service to be ready again',
      async () => (await call('GET', '/health/ready')).status === 200,
    )
  })

  test('that ends its connections is no failure', async (service) => {
    await service.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = 'mailwright'`,
    )
    for (const request of requests(service)) {
      const { status } = await request()
      assert.ok([200, 403, 404, 503].includes(status), String(status))
    }
    await until(
      'the service to be ready',
      async () => (await service.call('GET', '/health/ready')).status === 200,
    )
  })

  test('that does not answer is told by the readiness check within seconds', async ({ proxy, call }) => {
    proxy.stall()
    const startedAt = performance.now()
    const ready = await call('GET', '/health/ready')
    assert.is(ready.status, 503)
    assert.is(ready.body.checks.database, 'failed')
    assert.ok(performance.now() - startedAt < 5_000)
    await proxy.mend()
    await until(
      'the service to be ready again',
      async () => (await call('GET', '/health/ready')).status === 200,
    )
  })
})

const impatient = () => startService({}, { reach: (url) => `${url}?statement_timeout=400` })

scenario('A statement that takes too long', impatient, (test) => {
  test('is 503 with Retry-After, through Prisma and beside it', async (service) => {
    const { as, project, databaseUrl } = service
    const lock = await hold(databaseUrl, 'lock table templates, events in access exclusive mode')
    assertUnavailable(await as(project.public).post('/v1/track', TRACK))
    assertUnavailable(await as(project).get(`/templates/${ID}`))
    const query = await as(project).graphql(`{ template(id: "${ID}") { id } }`)
    assertGraphQLRefused(query, 503, 'SERVICE_UNAVAILABLE')
    await lock.release()
    assert.is((await as(project.public).post('/v1/track', TRACK)).status, 200)
    assert.is((await service.sql('select from events')).length, 1)
  })
})
