import * as assert from 'uvu/assert'
import { endpointOf } from '../../src/graphql/endpoint-plugin.ts'
import type { OpenApiDocument } from '../../src/rest/openapi-types.ts'
import { schema } from '../../src/schema.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'
import { describedOperations } from './openapi-checker.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Addresses that show a person a form for what the operation does. */
const PAGES = ['login', 'signup', 'verify-email', 'request-password-reset', 'reset-password'].map(
  (name) => `/auth/${name}`,
)
const ID = '0197a3c2-5e00-7000-8000-4d61696c7772'

const rootFields = () => [
  ...Object.values(schema.getQueryType()?.getFields() ?? {}),
  ...Object.values(schema.getMutationType()?.getFields() ?? {}),
]

async function start(): Promise<Service & { document: OpenApiDocument }> {
  const service = await startService()
  const { body } = await service.call('GET', '/openapi.json')
  return { ...service, document: body }
}

const withIds = (path: string) => path.replaceAll(/\{\w+\}/g, ID)

/** Where Sofa puts an operation that has no route of its own. */
function sofaPaths(fieldName: string): string[] {
  const name = fieldName.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return [`/${name}`, `/${name}/${ID}`, `/api/${name}`, `/rest/${name}`]
}

const UNKNOWN = [
  ...['/api', '/webhook', `/webhook/${ID}`, '/swagger', '/docs/', '/docs/index.html', '/openapi.yaml'],
  ...['/v1', '/v1/', '/v1/send/', '//v1/send', '/V1/send', '/v1/send/x', '/v1/%73end', '/v1/../v1/send/..'],
  ...['/graphql/', '/graphql/stream', '/graphiql', '/playground', '/domains/', '/templates/', '/.env'],
]

scenario('Routes', start, (test) => {
  test('every operation with a route is described, and nothing else is', ({ document }) => {
    const routed = rootFields().flatMap((field) => {
      const rest = endpointOf(field.extensions)?.rest
      if (!rest) return []
      const first = `${rest.method} ${rest.path.replaceAll(/:(\w+)/g, '{$1}')} ${field.name}`
      return rest.byQuery ? [first, `${rest.method} ${rest.byQuery.path} ${field.name}ByQuery`] : [first]
    })
    const described = describedOperations(document).map(
      ({ method, path, operation }) => `${method} ${path} ${operation.operationId}`,
    )
    assert.ok(routed.length > 0)
    assert.equal(described.toSorted(), routed.toSorted())
  })

  test('every described operation is there, and asks for a key unless it needs none', async ({
    call,
    document,
  }) => {
    for (const { method, path, operation } of describedOperations(document)) {
      const answer = await call(method, withIds(path))
      if (operation.security.length > 0) assertRefused(answer, 401, 'MISSING_AUTH')
      else assert.not([404, 405].includes(answer.status), `${method} ${path}`)
    }
  })

  test('a described path answers no other method', async ({ as, document, project }) => {
    for (const [path, described] of Object.entries(document.paths)) {
      const pages = PAGES.includes(path) ? ['GET'] : []
      const known = [...Object.keys(described).map((method) => method.toUpperCase()), ...pages]
      const allowed = [...known, ...(known.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].toSorted()
      for (const method of METHODS.filter((one) => !known.includes(one))) {
        const answer = await as(project).call(method, withIds(path))
        assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
        assert.equal(answer.headers.get('allow')?.split(', ').toSorted(), allowed, `${method} ${path}`)
      }
    }
  })

  test('no operation can be reached where Sofa would put it', async ({ as, document, project }) => {
    const described = new Set(Object.keys(document.paths).map(withIds))
    for (const path of rootFields().flatMap((field) => sofaPaths(field.name))) {
      if (described.has(path)) continue
      for (const method of METHODS) {
        const answer = await as(project).call(method, path)
        assert.ok(answer.status === 404 || answer.status === 405, `${method} ${path}: ${answer.status}`)
        assertRefused(
          answer,
          answer.status,
          answer.status === 404 ? 'RESOURCE_NOT_FOUND' : 'METHOD_NOT_ALLOWED',
        )
      }
    }
  })

  test('what is no route is 404 in the standard envelope, whatever the method and the key', async ({
    call,
    project,
  }) => {
    for (const path of UNKNOWN) {
      for (const method of METHODS) {
        assertRefused(await call(method, path), 404, 'RESOURCE_NOT_FOUND')
        const body = method === 'GET' ? {} : { body: { url: 'http://127.0.0.1:1/', subscription: 'x' } }
        assertRefused(await call(method, path, { key: project.secret, ...body }), 404, 'RESOURCE_NOT_FOUND')
      }
    }
  })

  test('an id that no resource can have is 404', async ({ as, document, project }) => {
    for (const { method, path } of describedOperations(document)) {
      if (!path.includes('{')) continue
      for (const id of ['%zz', '%00', '%ff', '']) {
        const answer = await as(project).call(method, path.replaceAll(/\{\w+\}/g, id))
        assertRefused(answer, 404, 'RESOURCE_NOT_FOUND')
      }
    }
  })
})
