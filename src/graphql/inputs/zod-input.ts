import type { EnumRef, InputRef } from '@pothos/core'
import { z } from 'zod'
import { builder } from '../builder.ts'
import { checkedBy } from './input-schema.ts'

declare module 'zod' {
  interface GlobalMeta {
    /** The GraphQL scalar of a field whose shape GraphQL cannot say. */
    scalar?: 'JSONObject' | 'JSON' | 'ID' | 'Recipients' | 'Sender' | 'File'
    /** Inputs that are valid; the API description shows the first. */
    examples?: readonly unknown[]
  }
}

type Enumeration<Value> = EnumRef<SchemaTypesOf<typeof builder>, Value>
type Enums = readonly Enumeration<string>[]
type SchemaTypesOf<B> = B extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never

type FieldKind =
  | { type: 'String' | 'Boolean' | 'Int' | 'Float' | NonNullable<z.GlobalMeta['scalar']> }
  | { type: InputRef<object> | Enumeration<string> }
  | { list: FieldKind }

const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/**
 * Creates a GraphQL input type from a zod schema, so that shape, rules and descriptions of an input are
 * written once; the same schema checks both doors, and the API description is created from it. `enums` are
 * the enumerations that it refers to.
 */
export function inputFromZod<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  enums: Enums = [],
): InputRef<z.output<Schema>> {
  const fields: [string, FieldKind, z.core.$ZodType][] = Object.entries(schema.shape).map(([key, field]) => [
    key,
    kindOf(field, `${name}${capitalized(key)}`, enums),
    field,
  ])
  const ref = builder.inputType(name, {
    ...describedBy(schema),
    fields: (t) =>
      Object.fromEntries(
        fields.map(([key, kind, field]) => {
          const options = {
            required: !acceptsUndefined(field) && !(field instanceof z.ZodNullable),
            ...describedBy(field),
          }
          if (!('list' in kind)) return [key, t.field({ type: kind.type, ...options })]
          if ('list' in kind.list) throw new Error(`${name}.${key}: lists of lists are not supported`)
          return [key, t.field({ type: [kind.list.type], ...options })]
        }),
      ),
  })
  // The fields are created at run time, so the compiler cannot see that they have the schema's shape.
  return ref as unknown as InputRef<z.output<Schema>>
}

/** The argument `input` of a root field, which is said to be what its type is. */
export function inputArgument<Schema extends z.ZodObject>(name: string, schema: Schema, enums: Enums = []) {
  const type = inputFromZod(name, schema, enums)
  return { type, required: true, extensions: checkedBy(schema), ...describedBy(schema) } as const
}

const acceptsUndefined = (schema: z.core.$ZodType): boolean => z.safeParse(schema, undefined).success

const describedBy = (schema: z.core.$ZodType): { description?: string } => {
  const description = z.globalRegistry.get(schema)?.description
  return description ? { description } : {}
}

function kindOf(schema: z.core.$ZodType, name: string, enums: Enums): FieldKind {
  const scalar = z.globalRegistry.get(schema)?.scalar
  if (scalar) return { type: scalar }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return kindOf(schema.unwrap(), name, enums)
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return kindOf(schema.unwrap(), name, enums)
  if (schema instanceof z.ZodPipe) return kindOf(schema.in, name, enums)
  if (schema instanceof z.ZodArray) return { list: kindOf(schema.element, name, enums) }
  if (schema instanceof z.ZodObject) return { type: inputFromZod(`${name}Input`, schema, enums) }
  if (schema instanceof z.ZodEnum) return enumOf(schema, name, enums)
  if (schema instanceof z.ZodString) return { type: 'String' }
  if (schema instanceof z.ZodBoolean) return { type: 'Boolean' }
  if (schema instanceof z.ZodNumber) return { type: schema.isInt ? 'Int' : 'Float' }
  throw new Error(
    `${name}: no GraphQL type is known for a zod ${schema._zod.def.type}; give it meta({ scalar })`,
  )
}

/**
 * Creates an enumeration that outputs show and that inputs, which receive it as an option, refer to by
 * `meta({ id: name })`.
 */
export function defineEnum<Value extends string>(
  name: string,
  options: { description: string; values: Record<Value, { description: string }> },
): Enumeration<Value> {
  return builder.enumType(name, options) as Enumeration<Value>
}

function enumOf(schema: z.ZodEnum, name: string, enums: Enums): FieldKind {
  const id = z.globalRegistry.get(schema)?.id
  const type = enums.find((known) => known.name === id)
  if (!type)
    throw new Error(`${name}: give its enumeration meta({ id }), and the input the enumeration of that name`)
  return { type }
}
