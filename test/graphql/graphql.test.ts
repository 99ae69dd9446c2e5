import fc from 'fast-check'
import { buildClientSchema, getIntrospectionQuery } from 'graphql'
import * as assert from 'uvu/assert'
import { schema } from '../../src/schema.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { runs } from '../support/seeded.ts'
import { type Answer, type Body, type Service, startService } from '../support/service.ts'

const start = sharedStart(startService)

const TRACK = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { contact event } }'
const INPUT = { email: 'ada@example.org', event: 'opened_app' }

const LEAKS = /prisma|postgres|relation |node_modules|\.ts\b|at Object|stack|select |undefined/i

const inQuery = (query: string, variables?: object) =>
  `/graphql?${new URLSearchParams({ query, ...(variables && { variables: JSON.stringify(variables) }) })}`

scenario('A GraphQL query that cannot be run', start, (test) => {
  test('says what is wrong with its syntax, its fields or its arguments', async ({ as, project }) => {
    for (const [query, message] of [
      ['{', /Syntax Error/],
      ['', /Syntax Error/],
      ['{ nothing }', /Cannot query field "nothing"/],
      ['{ template { id } }', /argument "id" .* is required/],
      ['{ template(id: "x", more: 1) { id } }', /Unknown argument "more"/],
      ['{ template(id: {a: 1}) { id } }', /ID cannot represent/],
      ['query ($id: ID!) { template(id: $id) { id } }', /Variable "\$id"/],
      ['query ($id: Nothing) { template(id: $id) { id } }', /Unknown type "Nothing"/],
      ['query a { __typename } query b { __typename }', /operation/],
      ['subscription { trackEvent { event } }', /subscription/i],
      ['fragment A on Query { ...A } query { ...A }', /Cannot spread fragment/],
      ['{ __typename @defer }', /defer/],
      [`mutation { trackEvent(input: { email: "a@b.co", event: "e", data: 5 }) { event } }`, /JSONObject/],
      [`mutation { trackEvent(input: { email: "a@b.co", event: 1 }) { event } }`, /String/],
      [`mutation { trackEvent(input: { email: "a@b.co" }) { event } }`, /event/],
    ] as const) {
      const answer = await as(project.public).graphql(query)
      assert.ok(answer.status === 200 || answer.status === 400, `${answer.status} ${query}`)
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
      assert.match(answer.body.errors[0].message, message)
      assert.is(answer.body.data ?? null, null)
    }
  })

  test('is answered with 400 to who accepts GraphQL answers', async ({ graphql }) => {
    for (const query of ['{', '{ nothing }']) {
      const answer = await graphql(query, {}, { headers: { accept: 'application/graphql-response+json' } })
      assert.is(answer.status, 400)
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    }
  })

  test('says what is wrong with its variables', async ({ as, project }) => {
    for (const variables of [
      undefined,
      {},
      { input: null },
      { input: 1 },
      { input: [] },
      { input: { ...INPUT, email: 1 } },
      { input: { ...INPUT, data: 'text' } },
      { input: { ...INPUT, data: [] } },
      { input: { ...INPUT, subscribed: 'yes' } },
      { input: { ...INPUT, unknown: 1 } },
      { input: { event: 'e' } },
      { input: { ...INPUT, email: ['x'.repeat(100_000)] } },
    ]) {
      const answer = await as(project.public).graphql(TRACK, variables)
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
      assert.ok(answer.text.length < 2_000, 'a long value is not repeated whole')
    }
    const nulled = await as(project).graphql('query ($id: ID = "x") { template(id: $id) { id } }', {
      id: null,
    })
    assertGraphQLRefused(nulled, 400, 'BAD_REQUEST')
  })

  test('is no JSON object, or no JSON', async ({ call }) => {
    for (const body of [
      '',
      '{',
      'null',
      '1',
      '"{ __typename }"',
      '{}',
      '{"query":1}',
      '{"query":null}',
      '{"query":["{ __typename }"]}',
      '{"query":"{ __typename }","variables":"x"}',
      '{"query":"{ __typename }","variables":[]}',
      '{"query":"{ __typename }","operationName":"nothing"}',
      '{"query":"{ __typename }","more":1}',
    ]) {
      const answer = await call('POST', '/graphql', { body })
      assert.ok(answer.status === 200 || answer.status === 400, `${answer.status} ${body}`)
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    }
  })

  test('is a batch', async ({ call }) => {
    const answer = await call('POST', '/graphql', { body: [{ query: '{ __typename }' }] })
    assert.is(answer.status, 400)
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    assert.match(answer.body.errors[0].message, /Batching/)
  })

  test('wants an answer that is not JSON', async ({ graphql }) => {
    const answer = await graphql('{ __typename }', {}, { headers: { accept: 'image/png' } })
    assert.is(answer.status, 400)
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
  })
})

const deep = (levels: number) =>
  `{ __type(name: "Query") { ${'ofType { '.repeat(levels)}name${' }'.repeat(levels)} } }`
const wide = (fields: number) =>
  `{ __type(name: "Query") { ${'ofType { '.repeat(7)}${'name '.repeat(fields)}${'} '.repeat(7)}} }`

scenario('The limits of a GraphQL query', start, (test) => {
  test('hold for depth, cost, aliases and tokens', async ({ as, project }) => {
    const aliases = (count: number) =>
      `{ ${Array.from({ length: count }, (_, index) => `a${index}: __type(name: "Query") { name }`).join(' ')} }`
    const spread = `fragment F on __Type { ${'a: name '.repeat(1)} } { ${'__type(name: "Query") { ...F } '.repeat(2)}}`
    for (const [query, message] of [
      [deep(8), null],
      [deep(9), /depth limit/i],
      [wide(60), null],
      [wide(400), /cost limit/i],
      [aliases(15), null],
      [aliases(16), /aliases limit/i],
      [`{ ${'__typename '.repeat(400)} }`, null],
      [`{ ${'__typename '.repeat(1_998)} }`, /Validation aborted/],
      [`{ ${'__typename '.repeat(1_999)} }`, /token limit/i],
      [spread, null],
    ] as const) {
      // Strangers may not send so long documents.
      const answer = await as(project).graphql(query)
      if (message === null) {
        assert.not.ok(answer.body.errors, answer.text)
        continue
      }
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
      assert.match(answer.body.errors[0].message, message)
    }
  })

  test('hold for introspection that goes in circles', async ({ graphql }) => {
    const circle = `{ __schema { types { ${'fields { type { '.repeat(8)}name${' } }'.repeat(8)} } } }`
    assertGraphQLRefused(await graphql(circle), 400, 'BAD_REQUEST')
  })

  test('leave room for a large message', async ({ as, project }) => {
    const mutation = 'mutation ($input: SendEmailInput!) { sendEmail(input: $input) { emails { email } } }'
    const input = {
      to: 'ada@example.org',
      from: `a@${project.domain}`,
      subject: 'Large',
      body: `<p>${'x'.repeat(30_000_000)}</p>`,
    }
    const answer = await as(project).graphql(mutation, { input })
    assert.is(answer.body.data?.sendEmail.emails.length, 1, answer.text.slice(0, 500))
  })

  test('hold for the size of a request', async ({ call }) => {
    const answer = await call('POST', '/graphql', { body: 'x'.repeat(60_000_000) })
    assert.is(answer.status, 413)
    assertGraphQLRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
  })
})

scenario('GraphQL and browsers', start, (test) => {
  const csrf = { 'x-graphql-yoga-csrf': '1' }

  test('a page cannot send a query without being asked about it before', async ({ as, call, project }) => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/graphql',
    ]) {
      const answer = await as(project.public).post(
        '/graphql',
        JSON.stringify({ query: TRACK, variables: { input: INPUT } }),
        { headers: { 'content-type': type, ...csrf } },
      )
      assert.is(answer.status, 415, type)
      assertGraphQLRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
    const answer = await call('GET', inQuery('{ __typename }'))
    assert.is(answer.status, 403)
    assertGraphQLRefused(answer, 403, 'FORBIDDEN')
  })

  test('a query over GET reads', async ({ call }) => {
    const answer = await call('GET', inQuery('{ __typename }'), { headers: csrf })
    assert.is(answer.status, 200)
    assert.equal(answer.body, { data: { __typename: 'Query' } })
  })

  test('and changes nothing', async ({ as, project, sql }) => {
    const answer = await as(project.public).get(inQuery(TRACK, { input: INPUT }), { headers: csrf })
    assert.is(answer.status, 405)
    assert.is(answer.headers.get('allow'), 'POST')
    assertGraphQLRefused(answer, 405, 'METHOD_NOT_ALLOWED')
    assert.is((await sql('select from events')).length, 0)
  })

  test('and must be well-formed', async ({ call }) => {
    for (const query of [
      '',
      'variables=x',
      'query=%7B__typename%7D&variables=x',
      'query=%7B__typename%7D&extensions=%7B',
      'query=%7B__typename%7D&variables=1',
      'query=%zz',
    ]) {
      const answer = await call('GET', `/graphql?${query}`, { headers: csrf })
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    }
  })

  test('a mutation works with the public key where it may', async ({ as, project, sql }) => {
    const answer = await as(project.public).graphql(TRACK, { input: INPUT })
    assert.is((await sql('select from events where id = $1', [answer.body.data.trackEvent.event])).length, 1)
  })

  test('GraphiQL and introspection are there in development', async ({ call, graphql }) => {
    const page = await call('GET', '/graphql', { headers: { accept: 'text/html' } })
    assert.is(page.status, 200)
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(page.text, /graphiql/i)
    const { body } = await graphql(getIntrospectionQuery())
    const types = Object.keys(buildClientSchema(body.data).getTypeMap())
    assert.equal(types.toSorted(), Object.keys(schema.getTypeMap()).toSorted())
  })
})

const inProduction = () =>
  startService({
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    JWT_SECRET: '0123456789abcdef0123456789abcdef',
    API_URL: 'https://mail.example',
    MAIL_PROVIDER: 'mailbox',
  })

scenario('In production', inProduction, (test) => {
  test('there is no GraphiQL and no mailbox page', async ({ call, graphql }) => {
    const page = await call('GET', '/graphql', { headers: { accept: 'text/html,*/*' } })
    assert.ok(page.status >= 400)
    assert.not.match(page.text, /graphiql|<html/i)
    for (const path of ['/mailbox', '/mailbox/messages']) {
      assertRefused(await call('GET', path), 404, 'RESOURCE_NOT_FOUND')
    }
    assert.equal((await graphql('{ __typename }')).body, { data: { __typename: 'Query' } })
  })

  test('an unexpected error shows nothing of its cause either', async ({ as, project, sql }) => {
    await sql('alter table templates rename to moved')
    const answer = await as(project).graphql(
      '{ template(id: "01890000-0000-7000-8000-000000000001") { id } }',
    )
    assertGraphQLRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
    assert.not.match(answer.text, LEAKS)
  })
})

/** The same failure through both doors. */
async function bothDoors(
  { as }: Service,
  rest: { path: string; body: object },
  mutation: string,
  key: string,
): Promise<[Body, Body]> {
  const overRest = await as(key).post(rest.path, rest.body)
  const overGraphQL: Answer = await as(key).graphql(mutation, { input: rest.body })
  const { requestId: _rest, ...error } = overRest.body.error
  const [{ message, extensions }] = overGraphQL.body.errors
  const { requestId: _graphql, ...rest2 } = extensions
  return [error, { message, ...rest2 }]
}

scenario('The errors of GraphQL', start, (test) => {
  test('say the same as over REST', async (service) => {
    const { project, as } = service
    const send = 'mutation ($input: SendEmailInput!) { sendEmail(input: $input) { timestamp } }'
    const domain = 'mutation ($input: AddDomainInput!) { addDomain(input: $input) { id } }'
    const message = { to: 'a@example.org', from: `a@${project.domain}`, subject: 's', body: 'b' }
    const template = await as(project).post('/templates', {
      name: 'n',
      subject: 's',
      body: 'b',
      from: message.from,
    })
    const cases: [{ path: string; body: object }, string, string, string][] = [
      [
        { path: '/v1/track', body: { ...INPUT, event: 'email.sent' } },
        TRACK,
        project.public,
        'VALIDATION_ERROR',
      ],
      [
        { path: '/v1/track', body: { email: 'nobody', event: '' } },
        TRACK,
        project.public,
        'VALIDATION_ERROR',
      ],
      [
        { path: '/v1/send', body: { ...message, subject: 'a\nb', headers: { Bcc: 'x' } } },
        send,
        project.secret,
        'VALIDATION_ERROR',
      ],
      [
        { path: '/v1/send', body: { ...message, from: 'a@b.co' } },
        send,
        project.secret,
        'INTERNAL_SERVER_ERROR',
      ],
      [
        { path: '/v1/send', body: { ...message, template: template.body.id } },
        send,
        project.secret,
        'CONTACT_UNSUBSCRIBED',
      ],
      [{ path: '/domains', body: { domain: project.domain } }, domain, project.secret, 'CONFLICT'],
      [{ path: '/domains', body: { domain: 'x' } }, domain, project.public, 'INVALID_API_KEY'],
    ]
    for (const [rest, mutation, key, code] of cases) {
      const [error, extensions] = await bothDoors(service, rest, mutation, key)
      assert.is(error.code, code)
      assert.equal(extensions, error)
    }
  })

  test('show nothing of an unexpected cause', async ({ as, project, sql }) => {
    await sql('alter table templates rename to moved')
    const id = '01890000-0000-7000-8000-000000000001'
    const answer = await as(project).graphql(`{ template(id: "${id}") { id } __typename }`)
    assertGraphQLRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
    assert.equal(answer.body.errors[0].path, ['template'])
    assert.not.match(answer.text, LEAKS)
    const rest = await as(project).get(`/templates/${id}`)
    assertRefused(rest, 500, 'INTERNAL_SERVER_ERROR')
    assert.not.match(rest.text, LEAKS)
    await sql('alter table moved rename to templates')
    assert.is((await as(project).get(`/templates/${id}`)).status, 404)
  })

  test('are never a failure of the service, whatever a query holds', async ({ as, project }) => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '(',
      ')',
      '[',
      ']',
      ':',
      '$',
      '!',
      '...',
      '"',
      '"""',
      '#',
      '@',
      '|',
      '=',
      'query',
      'mutation',
      'fragment F on Query',
      'template',
      'trackEvent',
      'id',
      'input',
      '$input: TrackEventInput',
      '__schema',
      '__type',
      '1',
      'null',
      '\u0000',
      '\ud800',
      '\u{1f600}',
    )
    const query = fc.oneof(
      fc.array(pieces, { maxLength: 20 }).map((all) => all.join(' ')),
      fc.constant(TRACK),
    )
    const variables = fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.record({
        input: fc.oneof(
          fc.jsonValue(),
          fc.record({ email: fc.string(), event: fc.string({ unit: 'binary' }), data: fc.object() }),
        ),
      }),
    )
    await fc.assert(
      fc.asyncProperty(query, variables, async (text, values) => {
        const answer = await as(project.public).graphql(text, values)
        const codes = (answer.body.errors ?? []).map(({ extensions }: Body) => extensions.statusCode)
        assert.ok(answer.status < 500, answer.text)
        for (const code of codes) assert.ok(code < 500, `${text} ${answer.text}`)
        assert.ok(codes.length > 0 || answer.body.data)
      }),
      { numRuns: runs(300) },
    )
  })
})
