import { type GraphQLField, getNamedType, isInputObjectType } from 'graphql'
import { z } from 'zod'

const EXTENSION = 'checkedBy'

/** The extensions of an input type that was made from a zod schema. */
export const checkedBy = (schema: z.ZodType) => ({ [EXTENSION]: schema })

/** The zod schema that the `input` argument of a root field was made from, if it has one. */
export function inputSchemaOf(field: Pick<GraphQLField<unknown, unknown>, 'args'>): z.ZodType | null {
  const input = field.args.find((arg) => arg.name === 'input')
  const type = input && getNamedType(input.type)
  const schema = isInputObjectType(type) ? type.extensions[EXTENSION] : null
  return schema instanceof z.ZodType ? schema : null
}
