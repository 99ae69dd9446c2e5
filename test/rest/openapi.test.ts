import { readFileSync } from 'node:fs'
import { validate } from '@readme/openapi-parser'
import { Kind, type SelectionSetNode } from 'graphql'
import * as assert from 'uvu/assert'
import { printedSchema } from '../../src/bin/print-schema.ts'
import { openApiDocument, printedOpenApi } from '../../src/rest/openapi.ts'
import type { OpenApiDocument, Schema } from '../../src/rest/openapi-types.ts'
import { type RestOperation, restOperations } from '../../src/rest/operations.ts'
import { schema } from '../../src/schema.ts'
import { scenario } from '../support/scenario.ts'
import { checkerOf, describedOperations, strictAjv } from './openapi-checker.ts'

const OPTIONS = { serverUrl: 'http://127.0.0.1:4000', trackAcceptsSecretKey: false }

async function start() {
  const operations = await restOperations(schema)
  return { operations, document: openApiDocument(schema, operations, OPTIONS), stop: () => {} }
}

const committed = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

/** Whether both take some path, and neither is the more exact one. */
function areAmbiguous(one: string[], other: string[]): boolean {
  const isOpen = (part: string | undefined) => part?.startsWith('{') === true
  const places = one.map((part, index) => [part, other[index]] as const)
  return (
    one.length === other.length &&
    places.every(([a, b]) => a === b || isOpen(a) || isOpen(b)) &&
    places.some(([a, b]) => isOpen(a) && !isOpen(b)) &&
    places.some(([a, b]) => isOpen(b) && !isOpen(a))
  )
}

/** The names of the fields that an operation asks for, nested ones too. */
function selected(set: SelectionSetNode | undefined): unknown {
  if (!set) return null
  const fields = set.selections.filter((selection) => selection.kind === Kind.FIELD)
  return Object.fromEntries(
    fields.map(({ name, selectionSet }) => [name.value, selected(selectionSet)]).toSorted(),
  )
}

/** The names of the fields that a schema describes, nested ones too. */
function described(document: OpenApiDocument, given: Schema): unknown {
  const [found = given] = given.anyOf ?? []
  const name = found.$ref?.split('/').at(-1)
  const target = name === undefined ? found : (document.components.schemas[name] ?? {})
  const { items, properties } = target
  if (typeof items === 'object' && !Array.isArray(items)) return described(document, items)
  if (!properties) return null
  const entries = Object.entries(properties).map(([key, part]) => {
    return [key, typeof part === 'object' ? described(document, part) : null]
  })
  return Object.fromEntries(entries.toSorted())
}

function answerSchema(document: OpenApiDocument, { fieldName, route }: RestOperation): Schema | undefined {
  const { operation } =
    describedOperations(document).find((one) => one.operation.operationId === fieldName) ?? {}
  const answer = operation?.responses[route.status]
  const whole = answer && 'content' in answer ? answer.content?.['application/json'].schema : undefined
  const data = route.wrapped ? whole?.properties?.data : whole
  return typeof data === 'object' ? data : undefined
}

/** The fields of the data with those that stand beside it. */
function withBeside(document: OpenApiDocument, { fieldName, route }: RestOperation, data: unknown): unknown {
  if (route.besideData === null) return data
  const { operation } =
    describedOperations(document).find((one) => one.operation.operationId === fieldName) ?? {}
  const answer = operation?.responses[route.status]
  const whole = answer && 'content' in answer ? answer.content?.['application/json'].schema : undefined
  assert.ok(whole?.properties?.[route.besideData], fieldName)
  assert.type(data, 'object')
  return Object.assign({}, data, { [route.besideData]: null })
}

scenario('The API description', start, (test) => {
  test('openapi.json is what the code says; "npm run generate" writes it', async () => {
    assert.is(committed('openapi.json'), await printedOpenApi(schema))
  })

  test('schema.graphql is what the code says; "npm run generate" writes it', () => {
    assert.is(committed('schema.graphql'), printedSchema())
  })

  test('does not depend on the order of the operations', ({ document, operations }) => {
    const reversed = openApiDocument(schema, operations.toReversed(), OPTIONS)
    assert.is(JSON.stringify(reversed), JSON.stringify(document))
  })

  test('is valid OpenAPI 3.1', async () => {
    const result = await validate(JSON.parse(committed('openapi.json')))
    assert.equal(result, { valid: true, warnings: [], specification: 'OpenAPI' })
  })

  test('holds only valid JSON Schema 2020-12, with keywords that exist and references that lead somewhere', ({
    document,
  }) => {
    const { schemas } = document.components
    for (const [name, one] of Object.entries(schemas)) {
      const text = JSON.stringify({ ...one, $defs: schemas })
      const alone = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'))
      assert.not.throws(() => strictAjv().compile(alone), undefined, name)
    }
    assert.not.match(JSON.stringify(document), '"nullable"')
  })

  test('names every reference that it uses, and uses every component', ({ document }) => {
    const text = JSON.stringify(document)
    const used = new Set([...text.matchAll(/"\$ref":"#\/components\/(\w+\/\w+)"/g)].map(([, name]) => name))
    const { securitySchemes, ...components } = document.components
    const defined = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    )
    assert.equal([...used].toSorted(), defined.toSorted())
    const schemes = describedOperations(document).flatMap(({ operation }) =>
      operation.security.flatMap(Object.keys),
    )
    assert.equal([...new Set(schemes)].toSorted(), Object.keys(securitySchemes).toSorted())
  })

  test('says of every operation and section what it is for, and how it fails', ({ document }) => {
    const operations = describedOperations(document).map(({ operation }) => operation)
    const ids = operations.map(({ operationId }) => operationId)
    assert.is(new Set(ids).size, ids.length)
    for (const { operationId, summary, description, responses } of operations) {
      const statuses = Object.keys(responses).map((status) => status.charAt(0))
      assert.ok(summary && description && statuses.includes('2') && statuses.includes('4'), operationId)
    }
    const used = new Set(operations.flatMap(({ tags }) => tags))
    assert.equal(
      document.tags.map(({ name }) => name),
      [...used].toSorted(
        (a, b) => Number(b === 'Public API') - Number(a === 'Public API') || (a < b ? -1 : 1),
      ),
    )
    for (const { name, description } of document.tags) assert.ok(description, name)
    assert.ok(document.info.contact.url)
  })

  test('has two pairs of paths that are ambiguous, which the contract gives', ({ document }) => {
    const paths = Object.keys(document.paths).map((path) => path.split('/'))
    const pairs = paths.flatMap((one, index) =>
      paths
        .slice(index + 1)
        .filter((other) => areAmbiguous(one, other))
        .map((other) => [one, other]),
    )
    assert.equal(
      pairs.map((pair) => pair.map((path) => path.join('/'))),
      [
        ['/domains/{id}/verify', '/domains/project/{projectId}'],
        ['/events/{eventName}/usage', '/events/contact/{contactId}'],
      ],
    )
  })

  test('describes exactly the fields that each operation asks for', ({ document, operations }) => {
    for (const operation of operations) {
      const [definition] = operation.document.definitions
      if (definition?.kind !== Kind.OPERATION_DEFINITION) throw new Error('there is no operation')
      const [root] = definition.selectionSet.selections
      const asked = root?.kind === Kind.FIELD ? selected(root.selectionSet) : undefined
      const said = answerSchema(document, operation)
      if (operation.route.status === 204) assert.is(said, undefined, operation.fieldName)
      else
        assert.equal(
          withBeside(document, operation, said && described(document, said)),
          asked,
          operation.fieldName,
        )
    }
  })

  test('has an example for every JSON body, which the description and the service accept', ({
    document,
    operations,
  }) => {
    const { value } = checkerOf(document)
    for (const { endpoint, fieldName, route } of operations) {
      const { inputSchema } = endpoint
      if (!inputSchema || route.upload) continue
      const { operation } =
        describedOperations(document).find((one) => one.operation.operationId === fieldName) ?? {}
      const media = operation?.requestBody?.content['application/json']
      const component = media?.schema.$ref?.split('/').at(-1) ?? ''
      assert.ok(media?.example, `${fieldName}: its input needs meta({ examples: [...] })`)
      assert.equal(value(component, media?.example), [], fieldName)
      assert.ok(inputSchema.safeParse(media?.example).success, fieldName)
    }
  })

  test('says of null, left out fields and large letters what the service says', ({
    document,
    operations,
  }) => {
    const { value } = checkerOf(document)
    const inputSchema = operations.find(({ fieldName }) => fieldName === 'sendEmail')?.endpoint.inputSchema
    const message = { to: 'Ada <ada@example.org>', from: 'a@example.org', subject: 's', body: 'b' }
    const template = '0197A3C2-5E00-7000-8000-4D61696C7772'
    const list = ['a@example.org', { email: 'b@example.org', name: null }]
    for (const [input, accepted] of [
      [{ ...message, data: null, subscribed: null, attachments: null }, true],
      [{ to: list, template }, true],
      [{ to: { email: 'a@example.org' }, template }, true],
      [{ ...message, from: { email: 'a@example.org', name: 'A' } }, true],
      [{ ...message, from: ['a@example.org'] }, false],
      [{ to: [], template }, false],
      [{ to: 1, template }, false],
      [{ template }, false],
      [{ ...message, subject: 1 }, false],
      [{ ...message, headers: { 'X-Id': 1 } }, false],
      [{ ...message, subscribed: 'yes' }, false],
    ] as const) {
      assert.is(value('SendEmailInput', input).length === 0, accepted, `described: ${JSON.stringify(input)}`)
      assert.is(inputSchema?.safeParse(input).success, accepted, `checked: ${JSON.stringify(input)}`)
    }
  })

  test('offers the secret key for events only where it is accepted', ({ operations }) => {
    const track = (trackAcceptsSecretKey: boolean) =>
      openApiDocument(schema, operations, { ...OPTIONS, trackAcceptsSecretKey }).paths['/v1/track']?.post
    assert.equal(track(false)?.security, [{ publicKey: [] }])
    assert.equal(track(true)?.security, [{ publicKey: [] }, { secretKey: [] }])
  })
})
