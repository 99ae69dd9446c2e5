import {
  type GraphQLEnumType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'graphql'
import { mapToPrimitive, resolveFieldType } from 'sofa-api'
import { z } from 'zod'
import type { RestRoute } from '../graphql/rest-route.ts'
import { referenceTo, type Schema } from './openapi-types.ts'
import { projection, type RestOperation } from './operations.ts'

/** Scalars that Sofa would describe less exactly than they are. */
const SCALARS: Record<string, Schema> = {
  ID: { type: 'string', format: 'uuid' },
  Float: { type: 'number', format: 'double' },
  JSON: {},
}

/** The schema of a type's values as JSON. Sofa describes what may not be null; the rest is done here. */
export function schemaOf(type: GraphQLType): Schema {
  return isNonNullType(type) ? presentSchema(type.ofType) : orNull(presentSchema(type))
}

/** Returns the same as `schemaOf`, without null. */
export function presentSchema(type: GraphQLType): Schema {
  if (isNonNullType(type)) return presentSchema(type.ofType)
  if (isListType(type)) return { type: 'array', items: schemaOf(type.ofType) }
  if (isEnumType(type)) return referenceTo('schemas', type.name)
  if (!isScalarType(type)) return resolveFieldType(type, { customScalars: {} })
  const known = SCALARS[type.name]
  if (!known && !mapToPrimitive(type.name) && !type.extensions.jsonSchema) {
    throw new Error(`the scalar ${type.name} needs extensions: { jsonSchema }`)
  }
  return { ...(known ?? resolveFieldType(type, { customScalars: {} })) }
}

function orNull(schema: Schema): Schema {
  if (Object.keys(schema).length === 0) return schema
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [schema.type, 'null'] }
}

/** How answers of a type differ from its fields. */
type Shape = Pick<RestRoute, 'omittedWhenNull' | 'besideData'>
const PLAIN: Shape = { omittedWhenNull: [], besideData: null }

/** Every field is in every answer, null when it has no value; so all of them are required, but those that are left out then. */
function objectSchema(type: GraphQLObjectType, { omittedWhenNull, besideData }: Shape): Schema {
  const fields = Object.values(type.getFields()).filter(({ name }) => name !== besideData)
  return {
    type: 'object',
    ...described(type),
    required: fields.map(({ name }) => name).filter((name) => !omittedWhenNull.includes(name)),
    properties: Object.fromEntries(
      fields.map((field) => [field.name, { ...schemaOf(field.type), ...described(field) }]),
    ),
  }
}

function enumSchema(type: GraphQLEnumType): Schema {
  const values = type.getValues()
  const explained = values.filter(({ description }) => description)
  const lines = explained.map(({ name, description }) => `- \`${name}\`: ${description}`)
  const description = [type.description, lines.join('\n')].filter(Boolean).join('\n\n')
  return { type: 'string', ...described({ description }), enum: values.map(({ name }) => name) }
}

export const described = ({ description }: { description?: string | null | undefined }) =>
  description ? { description } : {}

/** Everything that the operations answer with and take, by name and in the order of the names. */
export function componentSchemas(
  schema: GraphQLSchema,
  operations: readonly RestOperation[],
): Record<string, Schema> {
  const found = new Map<string, Schema>()
  const shapes = new Map(operations.map(({ field, route }) => [getNamedType(field.type).name, route]))
  const answers = projection(schema, [...operations]).getTypeMap()
  const add = (given: GraphQLType): void => {
    const named = getNamedType(given)
    const { name } = named
    const type = answers[name]
    if (found.has(name)) return
    if (isEnumType(named)) found.set(name, enumSchema(named))
    if (!isObjectType(type)) return
    found.set(name, objectSchema(type, shapes.get(name) ?? PLAIN))
    for (const field of Object.values(type.getFields())) add(field.type)
  }
  for (const { field, route } of operations) {
    if (route.status !== 204) add(field.type)
    for (const arg of field.args) if (!isInputObjectType(getNamedType(arg.type))) add(arg.type)
  }
  for (const [name, input] of operations.flatMap((operation) => inputSchemas(schema, operation))) {
    if (!found.has(name)) found.set(name, input)
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The name of the component that describes the body of an operation. */
export const inputNameOf = ({ field }: Pick<RestOperation, 'field'>): string | null => {
  const input = field.args.find(({ name }) => name === 'input')
  return input ? getNamedType(input.type).name : null
}

/** The body of an operation, from the zod schema that checks it, and the types that it refers to. */
function inputSchemas(schema: GraphQLSchema, operation: RestOperation): [string, Schema][] {
  const name = inputNameOf(operation)
  if (!operation.endpoint.inputSchema || !name) return []
  const json = z.toJSONSchema(operation.endpoint.inputSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => mend(schema, zodSchema, jsonSchema),
  })
  const { $schema: _dialect, $defs = {}, ...body } = withComponentReferences(json, name)
  const shared = Object.entries($defs).map(([id, definition]): [string, Schema] => {
    const type = schema.getType(id)
    return [id, isEnumType(type) ? enumSchema(type) : definition]
  })
  return [[name, body], ...shared]
}

/** Facts about a part of an input that zod cannot say, or says wrongly. */
function mend(schema: GraphQLSchema, part: z.core.$ZodType, json: Schema): void {
  const scalar = z.globalRegistry.get(part)?.scalar
  delete json.scalar
  const hasShape = ['type', 'anyOf', 'oneOf', 'allOf', '$ref'].some((key) => key in json)
  const type = scalar && schema.getType(scalar)
  if (isScalarType(type) && !hasShape) Object.assign(json, { ...presentSchema(type), ...json })
  // Anything, or null, is anything.
  if (json.anyOf?.some((one) => Object.keys(one).length === 0)) delete json.anyOf
  // zod says of every integer how far JavaScript can count.
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
  // A JSON Schema pattern has no flags: without them it would refuse what the service takes.
  if (part._zod.def.checks?.some(hasFlags)) delete json.pattern
}

const hasFlags = ({ _zod: { def } }: z.core.$ZodCheck): boolean =>
  'pattern' in def && def.pattern instanceof RegExp && /[im]/.test(def.pattern.flags)

/** zod puts what it names beside the schema; in a document that is a component. */
function withComponentReferences(json: Schema, name: string): Schema {
  return JSON.parse(JSON.stringify(json), (key, value) => {
    if (key !== '$ref' || typeof value !== 'string') return value
    if (value.startsWith('#/components/')) return value
    const id = /^#\/\$defs\/(?!__)(.+)$/.exec(value)?.[1]
    if (!id) throw new Error(`${name}: a schema that refers to itself needs meta({ id })`)
    return referenceTo('schemas', id).$ref
  })
}
