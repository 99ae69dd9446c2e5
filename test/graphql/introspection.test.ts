import { buildClientSchema, getIntrospectionQuery } from 'graphql'
import * as assert from 'uvu/assert'
import { schema } from '../../src/schema.ts'
import { assertGraphQLRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

/** How often the directives of the schema are read, which only introspection does while requests are served. */
async function directivesRead(work: () => Promise<unknown>): Promise<number> {
  const { getDirectives } = schema
  let count = 0
  schema.getDirectives = () => {
    count += 1
    return getDirectives.call(schema)
  }
  try {
    await work()
  } finally {
    schema.getDirectives = getDirectives
  }
  return count
}

const DIRECTIVES = '{ __schema { directives { name } } }'

scenario('Introspection', startService, (test) => {
  test('is answered once, and from then on with the same text', async ({ graphql, project }) => {
    const first = await graphql(DIRECTIVES)
    assert.ok(first.body.data.__schema.directives.length > 2)
    const ask = async (query: string, key?: string) => {
      const again = await graphql(query, { more: Math.random() }, key ? { key } : {})
      assert.is(again.status, 200)
      assert.is(again.text, first.text)
      assert.match(again.headers.get('content-type') ?? '', /^application\/(graphql-response\+)?json/)
    }
    const again = () => ask(DIRECTIVES).then(() => ask(DIRECTIVES, project.secret))
    assert.is(await directivesRead(again), 0)
    // Validation reads them too, of each document once.
    const validated = await directivesRead(() => graphql('{ config { environment } a: __typename }'))
    assert.is(
      await directivesRead(() => ask('# a comment\nquery   { __schema { directives{name} } }')),
      validated,
    )
  })

  test('answers other questions, other variables and other data apart', async ({ graphql }) => {
    const named = 'query ($name: String!) { __type(name: $name) { name kind } }'
    for (const [name, kind] of [
      ['Contact', 'OBJECT'],
      ['EmailStatus', 'ENUM'],
      ['Contact', 'OBJECT'],
    ]) {
      assert.equal((await graphql(named, { name })).body.data.__type, { name, kind })
    }
    const shown =
      'query ($with: Boolean = true) { __type(name: "Contact") { name kind @include(if: $with) } }'
    assert.equal((await graphql(shown)).body.data.__type, { name: 'Contact', kind: 'OBJECT' })
    assert.equal((await graphql(shown, { with: false })).body.data.__type, { name: 'Contact' })
    const beside = await graphql('{ __schema { queryType { name } } config { environment } }')
    assert.equal(beside.body.data, {
      __schema: { queryType: { name: 'Query' } },
      config: { environment: 'test' },
    })
  })

  test('serves the questions of tools', async ({ graphql }) => {
    for (const options of [
      {},
      { descriptions: false },
      { inputValueDeprecation: true, oneOf: true, schemaDescription: true, specifiedByUrl: true },
    ]) {
      const { body } = await graphql(getIntrospectionQuery(options))
      assert.equal(
        Object.keys(buildClientSchema(body.data).getTypeMap()).toSorted(),
        Object.keys(schema.getTypeMap()).toSorted(),
      )
    }
  })

  test('gives each part of the schema once', async ({ graphql, project }) => {
    for (const [query, message] of [
      ['{ a: __schema { queryType { name } } b: __schema { queryType { name } } }', /__schema once/],
      [
        '{ ...A } fragment A on Query { __schema { queryType { name } } a: __schema { queryType { name } } }',
        /once/,
      ],
      ['{ __schema { a: types { name } b: types { name } } }', /types another name/],
      ['{ __schema { types { a: description b: description } } }', /description another name/],
      ['{ __type(name: "Query") { a: fields { name } } }', /fields another name/],
      ['{ __schema { types { fields { type { fields { name } } } } } }', /fields of another/],
      ['{ __type(name: "Job") { possibleTypes { interfaces { name } } } }', /fields of another/],
      [
        '{ __schema { types { fields { type { ...F } } } } } fragment F on __Type { ...G } fragment G on __Type { fields { name } }',
        /fields of another/,
      ],
    ] as const) {
      for (const key of [undefined, project.secret]) {
        const answer = await graphql(query, {}, key ? { key } : {})
        assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
        assert.match(answer.body.errors[0].message, message)
      }
    }
  })

  test('may give what is short another name', async ({ graphql }) => {
    const { body } = await graphql('{ a: __schema { types { kind: name } } }')
    assert.ok(body.data.a.types.length > 50)
  })

  test('of fragments that double is refused or answered at once', async ({ graphql }) => {
    const fragments = Array.from(
      { length: 150 },
      (_, index) => `fragment F${index} on __Type { ...F${index + 1} ...F${index + 1} }`,
    )
    const query = `{ __type(name: "Query") { ...F0 } } ${fragments.join('\n')} fragment F150 on __Type { name }`
    assertGraphQLRefused(await graphql(query), 400, 'BAD_REQUEST')
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

const codeOf = async ({ graphql }: Service, query: string, key?: string) =>
  (await graphql(query, {}, key ? { key } : {})).body.errors?.[0].extensions.code ?? null

scenario('Introspection in production', inProduction, (test) => {
  test('needs a key, either of them', async (service) => {
    for (const query of [
      DIRECTIVES,
      '{ __type(name: "Query") { name } }',
      '{ __typename a: __schema { queryType { name } } }',
    ]) {
      assert.is(await codeOf(service, query), 'MISSING_AUTH')
      assert.is(await codeOf(service, query, service.project.public), null)
      assert.is(await codeOf(service, query, service.project.secret), null)
      assert.is(await codeOf(service, query), 'MISSING_AUTH', 'also when the answer is remembered')
    }
    assert.is(await codeOf(service, '{ __typename }'), null)
  })
})
