import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from '../schema.ts'

/** The schema as schema.graphql holds it: sorted, so that a change shows as itself. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
