import * as assert from 'uvu/assert'
import type { ProjectIdentity } from '../../src/admission/access.sql.ts'
import { RateLimiter } from '../../src/admission/limits.ts'
import type { Sql } from '../../src/db/sql.ts'
import { AppError } from '../../src/errors.ts'
import { HOUR, MINUTE, SECOND } from '../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { type Answer, type Project, type Service, startService } from '../support/service.ts'

const TRACK = { email: 'ada@example.org', event: 'opened_app' }
const LIMIT_HEADERS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']

/** Moves the clock into the first second of a minute, so that no window ends while a test runs. */
function beginWindow({ clock }: Service): void {
  clock.advance(MINUTE - (clock.now().getTime() % MINUTE))
}

const limitOf = ({ headers }: Answer) => LIMIT_HEADERS.map((name) => Number(headers.get(name) ?? Number.NaN))

const trackWith = (service: Service, { public: key }: Project) => service.as(key).post('/v1/track', TRACK)

const readWith = (service: Service, { id, secret: key }: Project) =>
  service.as(key).get(`/domains/project/${id}`)

/** A query that asks for as many root fields. */
const fields = (count: number) =>
  `{ ${Array.from({ length: count }, (_, index) => `a${index}: config { environment }`).join(' ')} }`

const limited = (limit: string) => () => startService({ RATE_LIMIT_PER_MINUTE: limit })
const limitedTo5 = sharedStart(limited('5'))

scenario('A limit of 5 requests a minute', limitedTo5, (test) => {
  test('lets exactly 5 through and then answers 429 until the minute ends', async (service) => {
    const project = await service.newProject()
    beginWindow(service)
    for (const remaining of [4, 3, 2, 1, 0]) {
      const answer = await readWith(service, project)
      assert.is(answer.status, 200)
      assert.equal(limitOf(answer).slice(0, 2), [5, remaining])
    }
    for (const { status } of [await readWith(service, project), await readWith(service, project)]) {
      assert.is(status, 429)
    }
    service.clock.advance(50 * SECOND)
    const refused = await readWith(service, project)
    const error = assertRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    const [limit, remaining, reset] = limitOf(refused)
    assert.equal([limit, remaining], [5, 0])
    assert.ok(reset && reset >= 1 && reset <= 10, `reset in ${reset} s`)
    assert.is(refused.headers.get('retry-after'), String(reset))
    assert.match(error.suggestion, new RegExp(`${reset} seconds`))
    service.clock.advance(Number(refused.headers.get('retry-after')) * SECOND)
    const next = await readWith(service, project)
    assert.is(next.status, 200)
    assert.equal(limitOf(next).slice(0, 2), [5, 4])
  })

  test('counts every kind of request, over every door, and names the limit in every answer', async (service) => {
    const { as } = service
    const { secret: key } = await service.newProject()
    beginWindow(service)
    const answers = [
      await as(key).get('/domains/project/x'),
      await as(key).post('/v1/send', {}),
      await as(key).post('/v1/track', {}),
      await as(key).post('/v1/send', 'text', { headers: { 'content-type': 'text/plain' } }),
      await as(key).graphql('{ __typename }'),
    ]
    assert.equal(
      answers.map(({ status }) => status),
      [404, 422, 401, 415, 200],
    )
    assert.equal(
      answers.map((answer) => limitOf(answer).slice(0, 2)),
      [
        [5, 4],
        [5, 3],
        [5, 2],
        [5, 1],
        [5, 0],
      ],
    )
    const refused = await as(key).graphql('{ __typename }')
    assert.is(refused.status, 429)
    assertGraphQLRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    assert.ok(refused.headers.get('retry-after'))
    assert.equal(limitOf(refused).slice(0, 2), [5, 0])
  })

  test('names the limit also when GraphQL refuses a request unread', async (service) => {
    const { secret: key } = await service.newProject()
    beginWindow(service)
    const large = await service.as(key).post('/graphql', 'x'.repeat(60_000_000))
    assert.is(large.status, 413)
    assert.equal(limitOf(large).slice(0, 2), [5, 4])
  })

  test('says nothing to those who have no key', async ({ as, call, graphql }) => {
    for (const answer of [
      await call('POST', '/v1/track'),
      await as(`pk_${'0'.repeat(64)}`).post('/v1/track'),
      await call('GET', '/health/live'),
      await graphql('{ __typename }'),
    ]) {
      for (const name of LIMIT_HEADERS) assert.is(answer.headers.get(name), null)
    }
  })

  test('counts each project apart', async (service) => {
    const [one, other] = [await service.newProject(), await service.newProject()]
    beginWindow(service)
    for (let count = 0; count < 6; count += 1) await readWith(service, one)
    assert.is((await readWith(service, one)).status, 429)
    const answer = await readWith(service, other)
    assert.is(answer.status, 200)
    assert.equal(limitOf(answer).slice(0, 2), [5, 4])
  })

  test('takes a project’s own limit before the general one; 0 is none', async (service) => {
    const { sql, as } = service
    const project = await service.newProject()
    const read = () => as(project).get('/domains/project/x')
    const own = (limit: number) =>
      sql('update projects set rate_limit_per_minute = $2 where id = $1', [project.id, limit])
    beginWindow(service)
    await own(2)
    assert.equal(
      [await read(), await read(), await read()].map(({ status }) => status),
      [404, 404, 429],
    )
    await own(4)
    assert.equal(
      [await read(), await read(), await read()].map(({ status }) => status),
      [404, 404, 429],
    )
    await own(0)
    const free = await read()
    assert.is(free.status, 404)
    for (const name of LIMIT_HEADERS) assert.is(free.headers.get(name), null)
  })
})

scenario('No limit', limited('0'), (test) => {
  test('has no headers and no counter', async (service) => {
    const answer = await trackWith(service, service.project)
    for (const name of LIMIT_HEADERS) assert.is(answer.headers.get(name), null)
    assert.is((await service.sql("select from limit_windows where kind <> 'DOMAIN_CHECKS'")).length, 0)
  })
})

scenario('200 requests at once at a limit of 50', limited('50'), (test) => {
  test('exactly 50 are answered', async (service) => {
    const { as, newProject, sql } = service
    const project = await newProject()
    beginWindow(service)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        if (index % 3 === 0) return as(project).graphql('{ __typename }')
        if (index % 3 === 1) return as(project).get(`/domains/project/${project.id}`)
        return as(project).post('/v1/track', TRACK)
      }),
    )
    const statuses = answers.map(({ status }) => status)
    assert.is(statuses.filter((status) => status !== 429).length, 50)
    const remaining = answers.filter(({ status }) => status !== 429).map((answer) => limitOf(answer)[1])
    assert.equal(
      remaining.toSorted((a = 0, b = 0) => a - b),
      Array.from({ length: 50 }, (_, index) => index),
      'each answer names another remainder',
    )
    const [window] = await sql<{ used: number }>(
      "select used from limit_windows where project_id = $1 and kind = 'REQUESTS'",
      [project.id],
    )
    assert.ok(window && window.used >= 50)
  })
})

scenario('The public key', limitedTo5, (test) => {
  test('has four fifths of the limit, and the server the rest', async (service) => {
    const project = await service.newProject()
    beginWindow(service)
    for (const remaining of [3, 2, 1, 0]) {
      const answer = await trackWith(service, project)
      assert.is(answer.status, 200)
      assert.equal(limitOf(answer).slice(0, 2), [4, remaining])
    }
    const refused = await trackWith(service, project)
    assertRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    assert.equal(limitOf(refused).slice(0, 2), [4, 0])
    assert.ok(refused.headers.get('retry-after'))
    const server = await readWith(service, project)
    assert.is(server.status, 200)
    assert.equal(limitOf(server).slice(0, 2), [5, 0])
    assert.is((await readWith(service, project)).status, 429)
    service.clock.advance(MINUTE)
    assert.equal(limitOf(await trackWith(service, project)).slice(0, 2), [4, 3])
  })

  test('is counted whatever it asks for', async (service) => {
    const { public: key } = await service.newProject()
    beginWindow(service)
    const asked = [
      await service.as(key).post('/v1/track', {}),
      await service.as(key).post('/v1/send', {}),
      await service.as(key).get('/contacts'),
      await service.as(key).graphql('{'),
      await service.as(key).post('/v1/track', TRACK),
    ]
    assert.equal(
      asked.map(({ status }) => status),
      [422, 401, 401, 200, 429],
    )
  })

  test('gets no more than the server has left', async (service) => {
    const project = await service.newProject()
    beginWindow(service)
    for (let count = 0; count < 3; count += 1) await readWith(service, project)
    const answers = [
      await trackWith(service, project),
      await trackWith(service, project),
      await trackWith(service, project),
    ]
    assert.equal(
      answers.map((answer) => [answer.status, limitOf(answer)[1]]),
      [
        [200, 1],
        [200, 0],
        [429, 0],
      ],
    )
  })

  test('has none where there is but one: that is the server’s', async (service) => {
    const project = await service.newProject()
    await service.sql('update projects set rate_limit_per_minute = 1 where id = $1', [project.id])
    beginWindow(service)
    const refused = await trackWith(service, project)
    assertRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    assert.equal(limitOf(refused).slice(0, 2), [0, 0])
    assert.is((await readWith(service, project)).status, 200)
    assert.is((await readWith(service, project)).status, 429)
  })
})

scenario('A GraphQL request', limited('20'), (test) => {
  test('counts as many as the root fields that it asks for', async (service) => {
    const { secret: key } = await service.newProject()
    beginWindow(service)
    const left = async (query: string) => limitOf(await service.as(key).graphql(query))[1]
    assert.is(await left(fields(1)), 19)
    assert.is(await left(fields(5)), 14)
    assert.is(await left('{ config { environment } config { environment } __typename a: __typename }'), 13)
    assert.is(
      await left(
        `query { ...F } fragment F on Query { ... { a: config { environment } } b: config { environment } }`,
      ),
      11,
    )
    assert.is(await left('{ nothing }'), 10)
  })

  test('is refused whole when it asks for more than is left', async (service) => {
    const { secret: key } = await service.newProject()
    beginWindow(service)
    assert.is((await service.as(key).graphql(fields(15))).status, 200)
    const refused = await service.as(key).graphql(fields(15))
    assert.is(refused.status, 429)
    assertGraphQLRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    assert.is(refused.body.data, undefined)
    assert.is(refused.headers.get('retry-after'), refused.headers.get('ratelimit-reset'))
    assert.equal(limitOf(refused).slice(0, 2), [20, 4])
    assert.equal(limitOf(await service.as(key).graphql(fields(4))).slice(0, 2), [20, 0])
  })
})

/** What a limiter does with requests at given times, in processes of their own. */
async function startLimiters() {
  const service = await startService()
  let statements = 0
  const counted: Sql = (query, params) => {
    statements += 1
    return service.app.services.database.sql(query, params)
  }
  const identity = (id: string, rateLimitPerMinute: number | null): ProjectIdentity => ({
    id,
    name: 'Test',
    disabled: false,
    disabledReason: null,
    tracking: 'ENABLED',
    language: 'en',
    footerText: null,
    rateLimitPerMinute,
    sendRatePerSecond: null,
  })
  return {
    stop: service.stop,
    newProcess: () => new RateLimiter(counted, 1_000),
    newProject: async () => (await service.newProject()).id,
    identity,
    statements: () => statements,
    /** How many of `requests` requests at `time` are let through. */
    passing: async (limiter: RateLimiter, id: string, limit: number, time: number, requests: number) => {
      let passed = 0
      for (let request = 0; request < requests; request += 1) {
        const state = await limiter.count(identity(id, limit), new Date(time)).catch(refusalOnly)
        if (state) passed += 1
      }
      return passed
    },
  }
}

function refusalOnly(error: unknown): null {
  if (error instanceof AppError && error.code === 'RATE_LIMIT_EXCEEDED') return null
  throw error
}

const T = Date.parse('2026-03-04T05:06:00Z')

scenario('Processes that share a limit', startLimiters, (test) => {
  test('never pass it together, and leave at most a fiftieth of it unused', async ({
    newProcess,
    newProject,
    identity,
    statements,
  }) => {
    const id = await newProject()
    const processes = [newProcess(), newProcess(), newProcess()]
    const before = statements()
    let passed = 0
    for (let round = 0; round < 600; round += 1) {
      const states = await Promise.all(
        processes.map((process) => process.count(identity(id, null), new Date(T)).catch(refusalOnly)),
      )
      passed += states.filter(Boolean).length
    }
    assert.ok(passed <= 1_000 && passed >= 980, `${passed} passed`)
    assert.ok(statements() - before < 400, `${statements() - before} statements`)
  })

  test('leave at most a fiftieth unused when one of them holds permits and sleeps', async ({
    newProcess,
    newProject,
    passing,
  }) => {
    const id = await newProject()
    const sleeper = await passing(newProcess(), id, 1_000, T, 5)
    const others = await passing(newProcess(), id, 1_000, T, 1_100)
    assert.ok(sleeper + others <= 1_000 && sleeper + others >= 980, `${sleeper} + ${others} passed`)
  })

  test('are exact together at a small limit', async ({ newProcess, newProject, passing }) => {
    const id = await newProject()
    const [one, two] = [newProcess(), newProcess()]
    const passed = [
      await passing(one, id, 10, T, 4),
      await passing(two, id, 10, T + 1, 4),
      await passing(one, id, 10, T + 2, 4),
      await passing(two, id, 10, T + 3, 4),
    ]
    assert.equal(passed, [4, 4, 2, 0])
  })

  test('leave a fifth of the limit to the server, however often the public key asks', async ({
    newProcess,
    newProject,
    identity,
    passing,
  }) => {
    const id = await newProject()
    const processes = [newProcess(), newProcess()]
    let passed = 0
    for (let round = 0; round < 600; round += 1) {
      const ask = (process: RateLimiter) =>
        process.count(identity(id, 1_000), new Date(T), { keyKind: 'public' }).catch(refusalOnly)
      passed += (await Promise.all(processes.map(ask))).filter(Boolean).length
    }
    assert.ok(passed <= 800 && passed >= 784, `${passed} passed`)
    const server = await passing(newProcess(), id, 1_000, T, 400)
    assert.is(passed + server <= 1_000 && server >= 200, true, `${server} of the server passed`)
  })

  test('count what costs more as more, together', async ({ newProcess, newProject, identity }) => {
    const id = await newProject()
    const [one, two] = [newProcess(), newProcess()]
    const remaining = async (process: RateLimiter, cost: number) =>
      (await process.count(identity(id, 40), new Date(T), { cost }).catch(refusalOnly))?.remaining ?? null
    assert.is(await remaining(one, 15), 25)
    assert.is(await remaining(two, 15), 10)
    assert.is(await remaining(one, 15), null)
    assert.is(await remaining(one, 3), 7)
  })

  test('drop what they hold when the minute ends', async ({ newProcess, newProject, passing }) => {
    const id = await newProject()
    const [one, two] = [newProcess(), newProcess()]
    // Far from the limit each holds permits that it has not used.
    await passing(one, id, 1_000, T + 59_000, 5)
    await passing(two, id, 1_000, T + 59_000, 5)
    const [first, second] = await Promise.all([
      passing(one, id, 1_000, T + MINUTE, 1_100),
      passing(two, id, 1_000, T + MINUTE, 1_100),
    ])
    assert.ok(first + second <= 1_000 && first + second >= 980, `${first} + ${second} passed`)
  })

  test('hold a limit that was lowered meanwhile, whatever they hold', async ({
    newProcess,
    newProject,
    passing,
  }) => {
    const id = await newProject()
    const process = newProcess()
    assert.is(await passing(process, id, 1_000, T, 100), 100)
    assert.is(await passing(process, id, 10, T + 1, 20), 0)
    assert.is(await passing(process, id, 10, T + MINUTE, 20), 10)
  })

  test('use a limit that was raised at once', async ({ newProcess, newProject, passing }) => {
    const id = await newProject()
    const process = newProcess()
    assert.is(await passing(process, id, 5, T, 20), 5)
    assert.is(await passing(process, id, 50, T + 1, 100), 45)
  })

  test('give no second budget when a clock goes back a little', async ({
    newProcess,
    newProject,
    passing,
  }) => {
    const id = await newProject()
    const process = newProcess()
    assert.is(await passing(process, id, 10, T, 20), 10)
    assert.is(await passing(process, id, 10, T - 30_000, 20), 0)
    assert.is(await passing(newProcess(), id, 10, T - 30_000, 20), 0)
    assert.is(await passing(process, id, 10, T + MINUTE, 20), 10)
  })

  test('are not shut out for long by a clock that was hours ahead', async ({
    newProcess,
    newProject,
    passing,
  }) => {
    const id = await newProject()
    const process = newProcess()
    assert.is(await passing(process, id, 10, T + 24 * HOUR, 20), 10)
    assert.is(await passing(process, id, 10, T, 20), 10, 'the same process, its clock set right')
    assert.is(await passing(newProcess(), id, 10, T + 24 * HOUR, 20), 10)
    assert.is(await passing(newProcess(), id, 10, T + 1, 20), 10, 'another process')
  })

  test('tell a refused caller to wait no longer than the window', async ({
    newProcess,
    newProject,
    identity,
  }) => {
    const id = await newProject()
    const process = newProcess()
    await process.count(identity(id, 1), new Date(T + 59_999))
    const error: unknown = await process
      .count(identity(id, 1), new Date(T + 59_999))
      .catch((reason: unknown) => reason)
    assert.ok(error instanceof AppError)
    assert.is(error.extras.headers?.['retry-after'], '1')
  })
})
