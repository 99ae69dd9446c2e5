import { readFileSync } from 'node:fs'
import { type GraphQLSchema, getNamedType, isObjectType, isRequiredArgument } from 'graphql'
import { z } from 'zod'
import type { Access } from '../admission/access.ts'
import type { RestRoute } from '../graphql/rest-route.ts'
import { ERROR_SCHEMAS, failuresOf, queryArgumentsOf } from './openapi-errors.ts'
import { componentSchemas, described, inputNameOf, presentSchema, schemaOf } from './openapi-schemas.ts'
import { HEADERS, IDEMPOTENCY_PARAMETERS, INTRODUCTION, SECTIONS, SECURITY_SCHEMES } from './openapi-texts.ts'
import {
  type Answer,
  type Method,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Reference,
  referenceTo,
  type Schema,
} from './openapi-types.ts'
import { type RestOperation, restOperations } from './operations.ts'

export type OpenApiOptions = { serverUrl: string; trackAcceptsSecretKey: boolean }

/**
 * The description of the REST API, created from the schema: paths in alphabetical order, each kind of thing
 * once.
 */
export function openApiDocument(
  schema: GraphQLSchema,
  routed: readonly RestOperation[],
  options: OpenApiOptions,
): OpenApiDocument {
  const operations = routed.flatMap((operation) => [operation, ...atSecondPath(operation)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mailwright API',
      version: version(),
      description: INTRODUCTION,
      contact: { name: 'Whoever runs this service', url: options.serverUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: options.serverUrl }],
    tags: tagsOf(operations),
    paths: pathsOf(operations, options),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: IDEMPOTENCY_PARAMETERS,
      headers: HEADERS,
      responses: failures(operations),
      schemas: { ...ERROR_SCHEMAS, ...componentSchemas(schema, operations) },
    },
  }
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url)
  const { version: number }: { version: string } = JSON.parse(readFileSync(file, 'utf8'))
  return number
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The public API first, then the others by name. */
function tagsOf(operations: readonly RestOperation[]): OpenApiDocument['tags'] {
  const names = [...new Set(operations.map(({ route }) => route.tag))]
  const isPublic = (tag: string) =>
    operations.some(({ path, route }) => route.tag === tag && path.startsWith('/v1/'))
  const sorted = names.toSorted((a, b) => Number(isPublic(b)) - Number(isPublic(a)) || compare(a, b))
  return sorted.map((name) => ({ name, ...described({ description: SECTIONS[name] }) }))
}

const METHODS: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete']

function methodOf({ method }: RestOperation): Method {
  const found = METHODS.find((known) => known.toUpperCase() === method)
  if (!found) throw new Error(`no such method: ${method}`)
  return found
}

function pathsOf(operations: readonly RestOperation[], options: OpenApiOptions): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {}
  const sorted = operations.toSorted(
    (a, b) => compare(a.path, b.path) || METHODS.indexOf(methodOf(a)) - METHODS.indexOf(methodOf(b)),
  )
  for (const operation of sorted) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [methodOf(operation)]: operationOf(operation, options) }
  }
  return paths
}

/** The same operation at its second path, under a name of its own. */
function atSecondPath(operation: RestOperation): RestOperation[] {
  const { byQuery } = operation.route
  if (!byQuery) return []
  return [{ ...operation, path: byQuery.path, fieldName: `${operation.fieldName}ByQuery` }]
}

function operationOf(operation: RestOperation, options: OpenApiOptions): Operation {
  const { fieldName, field, route, endpoint } = operation
  const description = field.description ?? fieldName
  const body = bodyOf(operation)
  return {
    operationId: fieldName,
    summary: (/^.*?(?=[.;:](\s|$))/s.exec(description)?.[0] ?? description).trim(),
    description,
    tags: [route.tag],
    security: securityOf(endpoint.access, options),
    parameters: parametersOf(operation),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(statusesOf(route).map((status) => [status, success(operation, status)])),
      ...Object.fromEntries(
        failuresOf(operation, COMMON_HEADERS).map(({ status, name }) => [
          status,
          referenceTo('responses', name),
        ]),
      ),
    },
  }
}

function securityOf(access: Access, { trackAcceptsSecretKey }: OpenApiOptions): Record<string, []>[] {
  if (access === 'anyone') return []
  if (access === 'publicKey' && trackAcceptsSecretKey) return [{ publicKey: [] }, { secretKey: [] }]
  if (access === 'secretKey') return [{ secretKey: [] }, { session: [] }]
  if (access === 'user') return [{ session: [] }]
  return [{ publicKey: [] }]
}

function parametersOf(operation: RestOperation): (Parameter | Reference)[] {
  const { field, path, endpoint, route } = operation
  const inPath = path.split('/').filter((part) => part.startsWith(':'))
  return [
    ...inPath.map((part): Parameter => {
      const arg = field.args.find(({ name }) => `:${name}` === part)
      if (!arg) throw new Error(`${field.name} has no argument for ${part} of its path`)
      const schema = presentSchema(arg.type)
      return { name: arg.name, in: 'path', required: true, ...described(arg), schema }
    }),
    ...queryArgumentsOf(operation).map((arg): Parameter => {
      const fallback: Schema = arg.defaultValue === undefined ? {} : { default: arg.defaultValue }
      const schema = { ...presentSchema(arg.type), ...fallback }
      const name = route.byQuery?.argument === arg.name ? route.byQuery.parameter : arg.name
      return { name, in: 'query', required: isRequiredArgument(arg), ...described(arg), schema }
    }),
    ...(endpoint.idempotent
      ? Object.keys(IDEMPOTENCY_PARAMETERS).map((name) => referenceTo('parameters', name))
      : []),
  ]
}

function bodyOf(operation: RestOperation): Operation['requestBody'] {
  const name = inputNameOf(operation)
  const { inputSchema } = operation.endpoint
  if (!inputSchema || !name) return undefined
  const [example] = z.globalRegistry.get(inputSchema)?.examples ?? []
  const schema = referenceTo('schemas', name)
  const media = { schema, ...(example !== undefined && { example }) }
  return {
    required: !inputSchema.safeParse({}).success,
    content: operation.route.upload ? { 'multipart/form-data': { schema } } : { 'application/json': media },
  }
}

const COMMON_HEADERS: Answer['headers'] = {
  'X-Request-Id': referenceTo('headers', 'RequestId'),
  'X-Mailwright-Warning': referenceTo('headers', 'Warning'),
  'RateLimit-Limit': referenceTo('headers', 'RateLimitLimit'),
  'RateLimit-Remaining': referenceTo('headers', 'RateLimitRemaining'),
  'RateLimit-Reset': referenceTo('headers', 'RateLimitReset'),
}

const SUCCESS: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted: the work goes on in the background',
  204: 'No content',
}

const statusesOf = ({ status, otherStatus }: RestRoute): number[] =>
  otherStatus ? [status, otherStatus.status] : [status]

function success({ field, route, endpoint }: RestOperation, status: number): Answer {
  const data = schemaOf(field.type)
  const beside = besideData(field, route)
  const wrapped: Schema = {
    type: 'object',
    required: ['success', 'data', ...Object.keys(beside)],
    properties: { success: { const: true }, data, ...beside },
  }
  const replayed = { 'Idempotency-Replayed': referenceTo('headers', 'IdempotencyReplayed') }
  return {
    description: SUCCESS[status] ?? 'OK',
    headers: { ...COMMON_HEADERS, ...(endpoint.idempotent && replayed) },
    ...(route.status !== 204 && {
      content: { 'application/json': { schema: route.wrapped ? wrapped : data } },
    }),
  }
}

function besideData({ type }: RestOperation['field'], route: RestRoute): Record<string, Schema> {
  const named = getNamedType(type)
  const beside = isObjectType(named) && route.besideData ? named.getFields()[route.besideData] : undefined
  return beside ? { [beside.name]: { ...schemaOf(beside.type), ...described(beside) } } : {}
}

function failures(operations: readonly RestOperation[]): Record<string, Answer> {
  const all = operations.flatMap((operation) => failuresOf(operation, COMMON_HEADERS))
  const sorted = all.toSorted((a, b) => a.status - b.status || compare(a.name, b.name))
  return Object.fromEntries(sorted.map(({ name, answer }) => [name, answer]))
}

/** The description as openapi.json holds it, with a server on this machine. */
export async function printedOpenApi(schema: GraphQLSchema): Promise<string> {
  const options = { serverUrl: 'http://127.0.0.1:4000', trackAcceptsSecretKey: false }
  return `${JSON.stringify(openApiDocument(schema, await restOperations(schema), options), null, 2)}\n`
}
