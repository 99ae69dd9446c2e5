import type { z } from 'zod'

/** Names of zod's types, for people. */
const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

/** Messages of zod's own; a schema that words its rule itself begins with a verb. */
const OF_ZOD = /^(Invalid|Too (big|small)|Unrecognized|Expected)/

/**
 * Explains what is wrong with a value, as the end of a sentence that begins with its name: "must be a
 * number".
 */
export function issueText(issue: z.core.$ZodIssue): string {
  if (!OF_ZOD.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `must ${bound('at least', issue.origin, Number(issue.minimum))}`
    case 'too_big':
      return `must ${bound('at most', issue.origin, Number(issue.maximum))}`
    default:
      return 'is not valid'
  }
}

function bound(which: string, origin: string, count: number): string {
  const noun = origin === 'string' ? 'character' : origin === 'array' ? 'item' : null
  if (noun === null) return `be ${which} ${count}`
  return `have ${which} ${count} ${noun}${count === 1 ? '' : 's'}`
}
