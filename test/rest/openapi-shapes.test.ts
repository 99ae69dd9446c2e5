import { buildSchema, type GraphQLSchema } from 'graphql'
import { JSONObjectResolver } from 'graphql-scalars'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { create, get, nameOf, post, type RestRoute, remove } from '../../src/graphql/rest-route.ts'
import type { Endpoint } from '../../src/graphql/run-endpoint.ts'
import { id, jsonObject, optional } from '../../src/lib/fields.ts'
import { docsPage } from '../../src/rest/docs.ts'
import { openApiDocument } from '../../src/rest/openapi.ts'
import type { OpenApiDocument, Operation } from '../../src/rest/openapi-types.ts'
import { restOperations } from '../../src/rest/operations.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { checkerOf, describedFailures, describedOperations } from './openapi-checker.ts'

const endpoint = (rest: RestRoute, options: Partial<Endpoint> = {}): { endpoint: Endpoint } => ({
  endpoint: {
    ...{ name: nameOf(rest), access: 'secretKey', writes: false, rest, idempotent: false, inputSchema: null },
    ...{ role: 'MEMBER', projectArgument: null, scope: 'FULL', unverified: false },
    ...options,
  },
})

/** A schema written as text, with the routes of its fields. */
function schemaOf(text: string, routes: Record<string, { endpoint: Endpoint }>): GraphQLSchema {
  const schema = buildSchema(`scalar JSON scalar JSONObject ${text}`)
  const fields = { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() }
  for (const [name, extensions] of Object.entries(routes)) Object.assign(fields[name] ?? {}, { extensions })
  const scalar = schema.getType('JSONObject')
  if (scalar) scalar.extensions = JSONObjectResolver.extensions
  return schema
}

const OPTIONS = { serverUrl: 'http://127.0.0.1:4000', trackAcceptsSecretKey: false }

const describe = async (schema: GraphQLSchema): Promise<OpenApiDocument> =>
  openApiDocument(schema, await restOperations(schema), OPTIONS)

/** The failures of one operation, without those that every operation has. */
function failuresOf(document: OpenApiDocument, operationId: string): string[] {
  const described = describedOperations(document).find(
    ({ operation }) => operation.operationId === operationId,
  )
  const failures = described ? describedFailures(document, described) : []
  return failures.filter((failure) => !/^(401 INVALID_API_KEY|429|500|503)/.test(failure))
}

const LIST = `
  "Where it is."
  enum State { "On its way." OPEN DONE }
  type Part { name: String! }
  type Thing { id: ID!, state: State, part: Part, rate: Float!, count: Int, data: JSON, tags: [String!], at: [Part]! }
  type Page { data: [Thing!]!, total: Int! }
  type Query { things("How many." limit: Int = 20, search: String, state: State, after: ID!): Page! }`

scenario('What the API description makes of a schema', nothingShared, (test) => {
  test('arguments that are not in the path are query parameters', async () => {
    const document = await describe(schemaOf(LIST, { things: endpoint(get('/things', 'Things')) }))
    const operation: Operation | undefined = document.paths['/things']?.get
    assert.equal(operation?.parameters, [
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'How many.',
        schema: { type: 'integer', format: 'int32', default: 20 },
      },
      { name: 'search', in: 'query', required: false, schema: { type: 'string' } },
      { name: 'state', in: 'query', required: false, schema: { $ref: '#/components/schemas/State' } },
      { name: 'after', in: 'query', required: true, schema: { type: 'string', format: 'uuid' } },
    ])
    assert.equal(failuresOf(document, 'things'), [
      '400 BAD_REQUEST',
      '401 MISSING_AUTH',
      '422 VALIDATION_ERROR',
    ])
  })

  test('a field is always there, and null only where the schema lets it', async () => {
    const document = await describe(schemaOf(LIST, { things: endpoint(get('/things', 'Things')) }))
    const { value } = checkerOf(document)
    const full = { id: '0197a3c2-5e00-7000-8000-4d61696c7772', state: 'OPEN', part: { name: 'a' }, rate: 0.5 }
    const thing = { ...full, count: 1, data: { any: [1] }, tags: ['a'], at: [{ name: 'b' }, null] }
    const empty = { ...thing, state: null, part: null, count: null, data: null, tags: null, at: [] }
    assert.equal(value('Thing', thing), [])
    assert.equal(value('Thing', empty), [])
    for (const name of Object.keys(thing)) {
      const { [name]: _left, ...rest } = Object.fromEntries(Object.entries(thing))
      assert.match(value('Thing', rest).join(), `'${name}'`)
    }
    for (const wrong of [{ id: null }, { rate: null }, { at: null }, { tags: [null] }, { state: 'GONE' }]) {
      assert.is.not(value('Thing', { ...thing, ...wrong }).length, 0, JSON.stringify(wrong))
    }
    assert.is(document.components.schemas.State?.description, 'Where it is.\n\n- `OPEN`: On its way.')
  })

  test('an operation that needs no key says so, and cannot fail for want of one', async () => {
    const routes = { things: endpoint(get('/things/:after', 'Things'), { access: 'anyone' }) }
    const document = await describe(schemaOf(LIST, routes))
    const operation = document.paths['/things/{after}']?.get
    assert.equal(operation?.security, [])
    assert.equal(operation?.parameters.filter((one) => 'in' in one && one.in === 'path').length, 1)
    assert.not(failuresOf(document, 'things').includes('401 MISSING_AUTH'))
    assert.ok(failuresOf(document, 'things').includes('404 RESOURCE_NOT_FOUND'))
    assert.match(docsPage(document), 'Needs no key.')
  })

  test('a body follows the check of the input, references included', async () => {
    const state = z.enum(['OPEN', 'DONE']).meta({ id: 'State' })
    const input = z.object({
      name: z.string().trim().min(1).max(5),
      count: z.number().int().min(1).default(3),
      state: optional(state),
      other: optional(id),
      code: optional(z.string().regex(/^[a-z]+$/i)),
      data: optional(jsonObject),
      lines: optional(z.array(z.object({ state, size: z.number().max(9) })).max(2)),
    })
    const mutation = `enum State { OPEN DONE } type Query { a: Int } input ThingInput { a: Int }
      type Mutation { make(input: ThingInput!): Int! drop(id: ID!): Boolean! }`
    const routes = {
      make: endpoint(create('/things', 'Things', { errors: ['CONFLICT'], shortErrorFor: ['name'] }), {
        writes: true,
        inputSchema: input,
      }),
      drop: endpoint(remove('/things/:id', 'Things'), { writes: true }),
    }
    const document = await describe(schemaOf(mutation, routes))
    const { value } = checkerOf(document)
    for (const [body, accepted] of [
      [{ name: 'a' }, true],
      [{ name: 'a', state: 'OPEN', other: '0197A3C2-5E00-7000-8000-4D61696C7772', code: 'ABC' }, true],
      [{ name: 'a', state: null, data: { x: null }, lines: [{ state: 'DONE', size: 9 }] }, true],
      [{ name: 'a', lines: [{ state: 'DONE', size: 10 }] }, false],
      [{ name: 'a', state: 'GONE' }, false],
      [{ name: 'a', data: [] }, false],
      [{ name: 'a', count: 0 }, false],
      [{ name: 'toolong' }, false],
      [{}, false],
    ] as const) {
      assert.is(value('ThingInput', body).length === 0, accepted, JSON.stringify(body))
      assert.is(input.safeParse(body).success, accepted, JSON.stringify(body))
    }
    assert.is(document.paths['/things']?.post?.requestBody?.required, true)
    assert.is(document.paths['/things/{id}']?.delete?.requestBody, undefined)
    assert.equal(failuresOf(document, 'make'), [
      '400 INVALID_REQUEST_BODY',
      '400 short',
      '401 MISSING_AUTH',
      '403 PROJECT_DISABLED',
      '409 CONFLICT',
      '413 PAYLOAD_TOO_LARGE',
      '415 UNSUPPORTED_MEDIA_TYPE',
      '422 VALIDATION_ERROR',
    ])
    const page = docsPage(document)
    for (const words of [
      'OPEN | DONE',
      'lines[].size',
      '9 or less',
      '1 or more, default 3',
      '1 to 5 characters',
    ]) {
      assert.match(page, words)
    }
  })

  test('what cannot be described stops the start', async () => {
    const scalar = 'scalar Odd type Query { odd: Odd }'
    const odd = schemaOf(scalar, { odd: endpoint(get('/odd', 'Odd')) })
    const missing = schemaOf('type Query { odd: Int }', { odd: endpoint(get('/odd/:id', 'Odd')) })
    const mutation =
      'type Query { a: Int } input ThingInput { a: Int } type Mutation { make(input: ThingInput!): Int! }'
    const itself = z.object({
      get inside() {
        return z.array(itself)
      },
    })
    const recursive = schemaOf(mutation, {
      make: endpoint(post('/things', 'Things'), { inputSchema: itself }),
    })
    for (const [schema, message] of [
      [odd, /scalar Odd needs/],
      [missing, /no argument for :id/],
      [recursive, /needs meta\(\{ id \}\)/],
    ] as const) {
      const outcome = await describe(schema).catch((error: unknown) => error)
      assert.instance(outcome, Error)
      assert.match(String(outcome), message)
    }
  })
})
