import { z } from 'zod'
import { matchTree } from '../../../audience/match.rules.ts'
import { parseFilter, parseTree } from '../../../audience/parsing/parse.ts'
import { referencesOf } from '../../../audience/references.rules.ts'
import { takeSearch } from '../../../audience/take-search.ts'
import { interestsIn } from '../../../changes/interests.ts'
import { json } from '../../../lib/fields.ts'
import { defineStep } from './define-step.ts'

const schema = z.object({
  field: json.optional(),
  operator: json.optional(),
  value: json.optional(),
  unit: json.optional(),
  condition: json.optional(),
})

/** Either one filter, or a tree; both may ask `event.<path>` for values of the context. */
function treeOf({ condition, ...filter }: z.output<typeof schema>) {
  const context = true
  if (condition === undefined || condition === null) return parseFilter(filter, 'config', { context })
  return parseTree(condition, 'config.condition', { context })
}

export const conditionStep = defineStep({
  title: 'Condition',
  schema,
  tree: treeOf,
  interests: (config) => interestsIn(referencesOf(treeOf(config))),
  run: async (_config, { audience, subject, context, now }, tx) => {
    if (!audience) throw new Error('The condition was not read')
    const asked = { ...subject, context }
    await takeSearch(tx, audience, asked)
    const branch = matchTree(audience, asked, now) ? 'yes' : 'no'
    return { kind: 'done', branch, output: { branch } }
  },
})
