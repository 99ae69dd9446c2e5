import { z } from 'zod'

const EXTENSION = 'checkedBy'

/** The extensions of an argument whose type was created from a zod schema. */
export const checkedBy = (schema: z.ZodType) => ({ [EXTENSION]: schema })

type Argument = { extensions?: Readonly<Record<string, unknown>> | null | undefined }

/** The zod schema that an argument's type was created from; undefined when it has none. */
export function inputSchemaOf(argument: Argument | undefined): z.ZodType | null {
  const schema = argument?.extensions?.[EXTENSION]
  return schema instanceof z.ZodType ? schema : null
}
