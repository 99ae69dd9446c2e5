import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { id } from '../../lib/fields.ts'
import { plural } from './output.ts'

/** What every command accepts. */
export type Output = { json?: boolean }

export const withJson = (command: Command): Command =>
  command.option('--json', 'print one JSON document on one line')

/** An option's parser from the schema that the API checks the same field with. */
export const checked =
  <Value>(schema: z.ZodType<Value>) =>
  (text: string): Value => {
    const parsed = schema.safeParse(text)
    if (parsed.success) return parsed.data
    throw new InvalidArgumentError(`It ${ruleOf(parsed.error.issues[0])}.`)
  }

function ruleOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'too_small') return `must have at least ${plural(Number(issue.minimum), 'character')}`
  if (issue?.code === 'too_big') return `must have at most ${plural(Number(issue.maximum), 'character')}`
  return issue?.message ?? 'is not valid'
}

/** Ids are compared as text in places, and the database writes them in lower case. */
export const checkedId = checked(id.toLowerCase())

/** For an option that may be given several times. */
export const checkedIds = (text: string, previous: string[] = []): string[] => [...previous, checkedId(text)]

export function checkedLimit(maximum: number) {
  const rule = `must be a whole number from 1 to ${maximum}`
  const inRange = (value: number) => Number.isInteger(value) && value >= 1 && value <= maximum
  return checked(z.string().transform(Number).refine(inRange, rule))
}
