import { MapperKind, mapSchema } from '@graphql-tools/utils'
import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLFieldMap,
  type GraphQLSchema,
  isObjectType,
} from 'graphql'
import { useSofa } from 'sofa-api'
import { endpointOf } from '../graphql/endpoint-plugin.ts'
import type { RestRoute } from '../graphql/rest-route.ts'
import type { Endpoint } from '../graphql/run-endpoint.ts'
import { type KnownFields, knownFieldsOf } from './unknown-fields.ts'

/** An operation of the schema that has a REST route, ready to run. */
export type RestOperation = {
  method: string
  path: string
  fieldName: string
  kind: 'Query' | 'Mutation'
  field: GraphQLField<unknown, unknown>
  endpoint: Endpoint
  route: RestRoute
  /**
   * The schema as REST shows it, and the operation that Sofa creates for the field: it selects the whole
   * answer.
   */
  schema: GraphQLSchema
  document: DocumentNode
  /** The fields that a body may have; null when there is none, or any may stand there. */
  knownFields: KnownFields | null
}

/** Every field of the schema with a REST route, with the GraphQL operation that Sofa builds for it. */
export async function restOperations(schema: GraphQLSchema): Promise<RestOperation[]> {
  const found = [
    ...routed(schema.getQueryType()?.getFields(), 'Query'),
    ...routed(schema.getMutationType()?.getFields(), 'Mutation'),
  ]
  const shown = projection(schema, found)
  const documents = await documentsBySofa(shown, found)
  return found.map((operation) => {
    const document = documents.get(operation.fieldName)
    if (!document) throw new Error(`Sofa has created no operation for ${operation.fieldName}`)
    return { ...operation, schema: shown, document }
  })
}

type Routed = Omit<RestOperation, 'schema' | 'document'>

function routed(fields: GraphQLFieldMap<unknown, unknown> | undefined, kind: Routed['kind']): Routed[] {
  return Object.values(fields ?? {}).flatMap((field) => {
    const endpoint = endpointOf(field.extensions)
    if (!endpoint?.rest) return []
    const { method, path } = endpoint.rest
    const knownFields = endpoint.inputSchema && knownFieldsOf(endpoint.inputSchema)
    const common = { method, path, fieldName: field.name, kind, field, endpoint }
    return [{ ...common, route: endpoint.rest, knownFields }]
  })
}

/**
 * The schema as REST shows it: root fields with a route, and objects without relations. Sofa selects every
 * nested field, and a relation would pull in whole tables. The facade reads the arguments, so none are left.
 */
export function projection(
  schema: GraphQLSchema,
  operations: Pick<RestOperation, 'fieldName'>[],
): GraphQLSchema {
  const names = new Set(operations.map((operation) => operation.fieldName))
  return mapSchema(schema, {
    [MapperKind.SUBSCRIPTION]: () => null,
    [MapperKind.ROOT_FIELD]: (config, fieldName) => (names.has(fieldName) ? { ...config, args: {} } : null),
    [MapperKind.OBJECT_FIELD]: (config) => (isRelation(config) ? null : config),
  })
}

/** Prisma's relations, and fields that say of themselves that they lead to other objects. */
const isRelation = (config: { extensions?: Readonly<Record<string, unknown>> | null | undefined }): boolean =>
  config.extensions?.pothosPrismaRelationField !== undefined || config.extensions?.relation === true

/**
 * Sofa compiles the routes; requests do not pass through its HTTP layer, which coerces bodies and adds routes
 * of its own. Each route is called once with an `execute` that keeps the operation instead of running it.
 */
async function documentsBySofa(
  schema: GraphQLSchema,
  operations: Routed[],
): Promise<Map<string, DocumentNode>> {
  const documents = new Map<string, DocumentNode>()
  let current = ''
  const router = useSofa({
    basePath: '',
    schema,
    ignore: objectNames(schema),
    routes: Object.fromEntries(
      operations.map(({ kind, fieldName, method, path }) => [
        `${kind}.${fieldName}`,
        { method: toSofa(method), path },
      ]),
    ),
    execute: ({ document }) => {
      documents.set(current, document)
      return { data: { [current]: null } }
    },
  })
  for (const { fieldName, method, path } of operations) {
    current = fieldName
    await router.fetch(`http://sofa.invalid${path.replaceAll(':', 'any-')}`, { method })
  }
  return documents
}

/** Every object is to be selected whole where it is nested; Sofa would shrink some of them to their id. */
const objectNames = (schema: GraphQLSchema): string[] =>
  Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__'))
    .map((type) => type.name)

type SofaMethod = NonNullable<
  NonNullable<NonNullable<Parameters<typeof useSofa>[0]['routes']>[string]>['method']
>

const SOFA_METHODS: Record<string, SofaMethod> = {
  GET: 'GET',
  POST: 'POST',
  PUT: 'PUT',
  PATCH: 'PATCH',
  DELETE: 'DELETE',
}

function toSofa(method: string): SofaMethod {
  const known = SOFA_METHODS[method]
  if (!known) throw new Error(`no such method: ${method}`)
  return known
}
