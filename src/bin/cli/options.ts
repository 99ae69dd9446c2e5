import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { id } from '../../lib/fields.ts'
import { issueText } from '../../lib/issue-text.ts'

/** Options of every command. */
export type Output = { json?: boolean }

export const withJson = (command: Command): Command =>
  command.option('--json', 'print one JSON document on one line')

/** An option's parser from the schema that the API checks the same field with. */
export const checked =
  <Value>(schema: z.ZodType<Value>) =>
  (text: string): Value => {
    const parsed = schema.safeParse(text)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    throw new InvalidArgumentError(`It ${issue ? issueText(issue) : 'is not valid'}.`)
  }

/** Ids are compared as text in places, and the database writes them in lower case. */
export const checkedId = checked(id.toLowerCase())

/** An option that may be given several times. */
export const checkedIds = (text: string, previous: string[] = []): string[] => [...previous, checkedId(text)]

export function checkedLimit(maximum: number) {
  const rule = `must be a whole number from 1 to ${maximum}`
  const inRange = (value: number) => Number.isInteger(value) && value >= 1 && value <= maximum
  return checked(z.string().transform(Number).refine(inRange, rule))
}
