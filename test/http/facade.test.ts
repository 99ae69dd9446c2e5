import {
  GraphQLBoolean,
  GraphQLID,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
} from 'graphql'
import * as assert from 'uvu/assert'
import { RateLimiter } from '../../src/admission/limits.ts'
import { get, nameOf, post, type RestRoute, remove } from '../../src/graphql/rest-route.ts'
import type { Endpoint } from '../../src/graphql/run-endpoint.ts'
import { type Args, gated } from '../../src/graphql/run-endpoint.ts'
import { Admission } from '../../src/http/admission.ts'
import { StrangerLimit } from '../../src/http/budgets/stranger-limit.ts'
import { createHttpServer, serveRoutes } from '../../src/http/server.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { restRoutes } from '../../src/rest/facade.ts'
import { restOperations } from '../../src/rest/operations.ts'
import { capturedLog } from '../support/captured-log.ts'
import { listen } from '../support/listen.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { requestTo, startService } from '../support/service.ts'

/** What makes a field an operation that anyone may use. */
function operation(rest: RestRoute, resolve: (root: unknown, args: Args) => unknown, writes = false) {
  const endpoint: Endpoint = {
    ...{ name: nameOf(rest), access: 'anyone', writes, rest, idempotent: false, inputSchema: null },
    ...{ role: 'MEMBER', projectArgument: null, scope: 'FULL', unverified: false },
  }
  return { extensions: { endpoint }, resolve: gated(endpoint, resolve) }
}

const args = {
  limit: { type: GraphQLInt },
  subscribed: { type: GraphQLBoolean },
  search: { type: GraphQLString },
}
const echo = (_root: unknown, given: object) => JSON.stringify(given)

/** A schema that is all about arguments and failures, which the facade makes routes of like of any other. */
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: {
      list: { type: GraphQLString, args, ...operation(get('/list', 'T'), echo) },
      thing: {
        type: GraphQLString,
        args: { id: { type: new GraphQLNonNull(GraphQLID) }, idx: { type: GraphQLString } },
        ...operation(get('/things/:id', 'T'), echo),
      },
      found: {
        type: GraphQLString,
        args: { q: { type: new GraphQLNonNull(GraphQLString) } },
        ...operation(get('/found', 'T'), echo),
      },
      nothing: {
        type: new GraphQLNonNull(GraphQLString),
        ...operation(get('/nothing', 'T'), () => null),
      },
      wrong: { type: GraphQLInt, ...operation(get('/wrong', 'T'), () => 'internal text') },
    },
  }),
  mutation: new GraphQLObjectType({
    name: 'Mutation',
    fields: {
      wrapped: {
        type: GraphQLString,
        ...operation(post('/wrapped', 'T', { wrapped: true, status: 202 }), () => 'done', true),
      },
      removed: {
        type: GraphQLBoolean,
        args: { id: { type: new GraphQLNonNull(GraphQLID) } },
        ...operation(remove('/things/:id', 'T'), () => true, true),
      },
    },
  }),
})

async function startFacade() {
  const service = await startService()
  const captured = capturedLog()
  const { services } = service.app
  const admission = new Admission({
    keyRing: services.keyRing,
    sessions: services.sessions,
    rateLimiter: new RateLimiter(services.database.sql, 0),
    strangers: new StrangerLimit({ perMinute: 0, trustedProxies: [] }),
    now: services.now,
  })
  const facade = { services: { ...services, log: captured.log }, admission }
  const server = createHttpServer()
  serveRoutes(server, {
    routes: restRoutes(facade, await restOperations(schema)),
    dashboardUrl: null,
    log: captured.log,
    metrics: createMetrics(),
    now: services.now,
  })
  const port = await listen(server)
  return {
    captured,
    call: (method: string, path: string) => requestTo(`http://127.0.0.1:${port}${path}`, method),
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await service.stop()
    },
  }
}

scenario('The parameters of a route', startFacade, (test) => {
  test('have the types of the arguments', async ({ call }) => {
    const search = encodeURIComponent('a b&c=d')
    for (const [query, given] of [
      ['', {}],
      ['?limit=5&subscribed=true', { limit: 5, subscribed: true }],
      ['?limit=-2147483647&subscribed=false', { limit: -2147483647, subscribed: false }],
      [`?search=${search}`, { search: 'a b&c=d' }],
      ['?search=', { search: '' }],
      ['?search=123', { search: '123' }],
      ['?limit=1&limit=2', { limit: 1 }],
      ['?other=1&LIMIT=2', {}],
      ['?limit=007', { limit: 7 }],
    ] as const) {
      const answer = await call('GET', `/list${query}`)
      assert.is(answer.status, 200, answer.text)
      assert.equal(JSON.parse(answer.body), given)
    }
  })

  test('are refused when they have not', async ({ call }) => {
    for (const query of [
      ...[
        '',
        'x',
        '1.5',
        '1e3',
        '0x10',
        ' 1',
        '2147483648',
        '-2147483649',
        '99999999999999999999',
        'NaN',
      ].map((value) => `limit=${value}`),
      ...['', 'yes', '1', 'TRUE', 'null'].map((value) => `subscribed=${value}`),
    ]) {
      assertRefused(await call('GET', `/list?${query}`), 400, 'BAD_REQUEST')
    }
  })

  test('in the path win over the query', async ({ call }) => {
    const answer = await call('GET', '/things/from%20path?id=from-query&idx=1')
    assert.equal(JSON.parse(answer.body), { id: 'from path', idx: '1' })
  })

  test('that are needed must be there', async ({ call }) => {
    assertRefused(await call('GET', '/found'), 400, 'BAD_REQUEST')
    assert.equal(JSON.parse((await call('GET', '/found?q=')).body), { q: '' })
  })
})

scenario('The answer of a route', startFacade, (test) => {
  test('has the status and the shape that the route says', async ({ call }) => {
    const wrapped = await call('POST', '/wrapped')
    assert.equal([wrapped.status, wrapped.body], [202, { success: true, data: 'done' }])
    const removed = await call('DELETE', '/things/1')
    assert.equal([removed.status, removed.text], [204, ''])
    assert.is(removed.headers.get('content-type'), null)
  })

  test('says nothing of what went wrong inside', async ({ call, captured }) => {
    for (const path of ['/nothing', '/wrong']) {
      const answer = await call('GET', path)
      assertRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
      assert.not.match(answer.text, /internal text|nullable|Int/)
    }
    assert.match(captured.text(), /Cannot return null for non-nullable field/)
  })
})
