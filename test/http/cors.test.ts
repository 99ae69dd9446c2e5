import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { type Answer, startService } from '../support/service.ts'

const DASHBOARD = 'https://dashboard.example'
const OTHER = 'https://other.example'

const withDashboard = () => startService({ DASHBOARD_URL: `${DASHBOARD}/app/` })

const headersOf = (answer: Answer) =>
  [
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'access-control-allow-methods',
    'access-control-allow-headers',
  ].map((name) => answer.headers.get(name))

const words = (text: string | null | undefined) => (text ?? '').split(/, */)

const preflight = (origin: string, method: string) => ({
  headers: {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  },
})

scenario('Cross-origin requests', withDashboard, (test) => {
  test('to /v1 may come from any page, without credentials', async ({ as, call, project }) => {
    for (const origin of [OTHER, DASHBOARD, 'null', 'http://localhost:3000']) {
      for (const path of ['/v1/track', '/v1/send']) {
        const answer = await call('OPTIONS', path, preflight(origin, 'POST'))
        assert.is(answer.status, 204)
        assert.is(answer.text, '')
        const [allowOrigin, credentials, methods, headers] = headersOf(answer)
        assert.equal([allowOrigin, credentials], ['*', null])
        assert.ok(words(methods).includes('POST'))
        for (const name of ['authorization', 'content-type', 'idempotency-key', 'idempotency-replay']) {
          assert.ok(words(headers).includes(name), name)
        }
      }
      const body = { email: 'a@example.org', event: 'e' }
      const answer = await as(project.public).post('/v1/track', body, { headers: { origin } })
      assert.is(answer.status, 200)
      assert.equal(headersOf(answer).slice(0, 2), ['*', null])
      const exposed = words(answer.headers.get('access-control-expose-headers'))
      for (const name of ['x-request-id', 'retry-after', 'ratelimit-remaining', 'idempotency-replayed']) {
        assert.ok(exposed.includes(name), name)
      }
    }
  })

  test('can read the errors of /v1', async ({ call }) => {
    const headers = { origin: OTHER }
    for (const [method, path, status] of [
      ['POST', '/v1/track', 401],
      ['GET', '/v1/track', 405],
      ['POST', '/v1/nothing', 404],
    ] as const) {
      const answer = await call(method, path, { headers })
      assert.is(answer.status, status)
      assert.is(answer.headers.get('access-control-allow-origin'), '*')
    }
  })

  test('to everything else come from the dashboard only, with credentials', async ({ as, call, project }) => {
    for (const [method, path] of [
      ['GET', '/templates/x'],
      ['DELETE', '/domains/x'],
      ['POST', '/graphql'],
    ] as const) {
      const allowed = await call('OPTIONS', path, preflight(DASHBOARD, method))
      assert.is(allowed.status, 204)
      const [origin, credentials, methods, headers] = headersOf(allowed)
      assert.equal([origin, credentials], [DASHBOARD, 'true'])
      assert.ok(words(methods).includes(method))
      assert.ok(words(headers).includes('x-project-id'))
      assert.match(allowed.headers.get('vary') ?? '', /origin/i)
      for (const foreign of [OTHER, `${DASHBOARD}.evil.example`, 'http://dashboard.example', 'null']) {
        const answer = await call('OPTIONS', path, preflight(foreign, method))
        assert.equal(headersOf(answer).slice(0, 2), [null, null], foreign)
        const actual = await as(project).call(method, path, undefined, { headers: { origin: foreign } })
        assert.equal(headersOf(actual).slice(0, 2), [null, null], foreign)
      }
    }
    const answer = await call('GET', '/templates/x', { headers: { origin: DASHBOARD } })
    assert.equal(headersOf(answer).slice(0, 2), [DASHBOARD, 'true'])
  })

  test('do not make caches mix up origins', async ({ call }) => {
    assert.match((await call('GET', '/templates/x')).headers.get('vary') ?? '', /origin/i)
  })

  test('OPTIONS names the methods also without an origin', async ({ call }) => {
    const answer = await call('OPTIONS', '/v1/track')
    assert.is(answer.status, 204)
    assert.is(answer.headers.get('allow'), 'POST, OPTIONS')
    assert.is(answer.headers.get('access-control-allow-origin'), null)
  })
})

scenario('Without a dashboard', startService, (test) => {
  test('no page may call anything outside /v1', async ({ call }) => {
    for (const origin of [DASHBOARD, 'null']) {
      const answer = await call('OPTIONS', '/graphql', preflight(origin, 'POST'))
      assert.equal(headersOf(answer).slice(0, 2), [null, null])
      const tracking = await call('OPTIONS', '/v1/track', preflight(origin, 'POST'))
      assert.equal(headersOf(tracking).slice(0, 2), ['*', null])
    }
  })
})
