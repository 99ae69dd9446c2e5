import type { Schema } from './openapi-types.ts'

/** One field of a body or an answer, in words. */
export type FieldLine = { path: string; type: string; required: boolean; description: string; rules: string }

export type Components = Record<string, Schema>

type Part = Schema | boolean | undefined

/** In a request null means that a field is left out, so only answers speak of it. */
export type Direction = 'request' | 'answer'

const NULL: Schema = { type: 'null' }

const asSchema = (part: Part): Schema => (typeof part === 'object' ? part : {})

const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1)

function follow(components: Components, schema: Schema): Schema {
  const name = nameOf(schema)
  return name === undefined ? schema : { ...components[name], ...schema }
}

const itemsOf = ({ items }: Schema): Schema => asSchema(Array.isArray(items) ? items[0] : items)

const isNull = ({ type }: Schema) => type === 'null'

/** The alternatives of a value; usually one. */
function alternatives(schema: Schema): Schema[] {
  if (schema.anyOf) return schema.anyOf.flatMap(alternatives)
  if (!Array.isArray(schema.type)) return [schema]
  return schema.type.map((type) => (type === 'null' ? NULL : { ...schema, type }))
}

/** Describes a value in a few words. */
export function typeInWords(components: Components, schema: Schema, direction: Direction): string {
  const shown = alternatives(schema).filter((one) => direction === 'answer' || !isNull(one))
  return shown.map((one) => oneTypeInWords(components, one, direction)).join(' or ')
}

function oneTypeInWords(components: Components, schema: Schema, direction: Direction): string {
  const found = follow(components, schema)
  if (found.const !== undefined) return JSON.stringify(found.const)
  if (found.enum) return found.enum.join(' | ')
  if (found.type === 'array') return `list of ${typeInWords(components, itemsOf(found), direction)}`
  if (found.type !== 'object') return plainType(found)
  const name = nameOf(schema)
  return name ?? (found.properties ? `{ ${Object.keys(found.properties).join(', ')} }` : 'object')
}

function plainType({ type, format }: Schema): string {
  if (type === undefined) return 'any value'
  return format === undefined || type !== 'string' ? String(type) : `${type} (${format})`
}

const sizes = (from: number | undefined, to: number | undefined, what: string): string[] => {
  if (from !== undefined && to !== undefined) return [`${from} to ${to}${what}`]
  if (from === 1) return ['not empty']
  if (from !== undefined) return [`at least ${from}${what}`]
  return to === undefined ? [] : [`at most ${to}${what}`]
}

const numbers = ({ minimum, maximum }: Schema): string[] => {
  if (minimum !== undefined && maximum !== undefined) return [`${minimum} to ${maximum}`]
  if (minimum !== undefined) return [`${minimum} or more`]
  return maximum === undefined ? [] : [`${maximum} or less`]
}

/** The limits of a value. */
export function rulesInWords(components: Components, schema: Schema): string {
  const rules = alternatives(schema)
    .map((one) => follow(components, one))
    .flatMap((one) => [
      ...sizes(one.minLength, one.maxLength, ' characters'),
      ...numbers(one),
      ...sizes(one.minItems, one.maxItems, ' items'),
      ...sizes(one.minProperties, one.maxProperties, ' keys'),
      ...(one.pattern === undefined ? [] : [`matches ${one.pattern}`]),
    ])
  if (schema.default !== undefined) rules.push(`default ${JSON.stringify(schema.default)}`)
  return [...new Set(rules)].join(', ')
}

/** The fields of an object, or of the objects in a list, with the fields inside them. */
export function fieldLines(
  components: Components,
  schema: Schema,
  direction: Direction,
  prefix = '',
  seen: readonly string[] = [],
): FieldLine[] {
  const objects = alternatives(schema).filter((one) => !isNull(one))
  const [only] = objects
  if (!only || objects.length > 1) return []
  const name = nameOf(only)
  if (name !== undefined && seen.includes(name)) return []
  const inside = name === undefined ? seen : [...seen, name]
  const found = follow(components, only)
  if (found.type === 'array') {
    return fieldLines(components, itemsOf(found), direction, `${prefix}[]`, inside)
  }
  return Object.entries(found.properties ?? {}).flatMap(([key, part]) => {
    const field = asSchema(part)
    const path = prefix === '' ? key : `${prefix}.${key}`
    const line: FieldLine = {
      path,
      type: typeInWords(components, field, direction),
      required: found.required?.includes(key) ?? false,
      description: field.description ?? follow(components, field).description ?? '',
      rules: direction === 'request' ? rulesInWords(components, field) : '',
    }
    return [line, ...fieldLines(components, field, direction, path, inside)]
  })
}
