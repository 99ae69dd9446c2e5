import { type Body, callerOf } from '../../support/service.ts'
import type { Attack, Target } from '../define-attack.ts'

const AT_ONCE = 40
const LASTING_MS = 12_000
const LOOP = '{{#event.l}}{{.}}{{event.x}} {{/event.l}}'
const CONTACT = { email: 'ada@example.org' }

/** A chain of as many steps of one kind; each goes on by the branch. */
async function newWorkflow({ url, unlimited }: Target, count: number, step: object, branch?: string) {
  const caller = callerOf(url, unlimited)
  const { body: workflow } = await caller.post('/workflows', { name: 'Heavy', eventName: 'x' })
  let last = { fromStepId: workflow.steps[0].id }
  for (let made = 0; made < count; made += 1) {
    const { body } = await caller.post(`/workflows/${workflow.id}/steps`, step)
    await caller.post(`/workflows/${workflow.id}/transitions`, { ...last, toStepId: body.id })
    last = { fromStepId: body.id, ...(branch !== undefined && { branch }) }
  }
  return workflow.id
}

const QUERY = `query ($id: ID!, $input: SimulateWorkflowInput!) {
  simulateWorkflow(workflowId: $id, input: $input) { status timeline { call { body } } } }`

/**
 * Simulates one workflow many times at once. Each step costs less than a request may, all of them more: alone as well it has
 * to be refused. Nobody else may be refused.
 */
async function flood(target: Target, id: string, input: Body): Promise<string> {
  const { url, unlimited, bystander, signal } = target
  const body = JSON.stringify({ query: QUERY, variables: { id, input } })
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  const simulate = async (until: AbortSignal) => {
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body, signal: until })
    return /"code":"(\w+)"/.exec(await response.text())?.[1] ?? 'answered'
  }
  const began = performance.now()
  const alone = await simulate(signal)
  const aloneMs = Math.round(performance.now() - began)
  if (alone !== 'PAYLOAD_TOO_LARGE') throw new Error(`the cost of the steps is not added up: ${alone}`)
  // Those that are under way at the end are left.
  const over = AbortSignal.any([signal, AbortSignal.timeout(LASTING_MS)])
  const seen = new Map<string, number>()
  const client = async () => {
    while (!over.aborted) {
      try {
        const code = await simulate(over)
        seen.set(code, (seen.get(code) ?? 0) + 1)
      } catch (error) {
        if (!over.aborted) throw error
      }
    }
  }
  const others = { asked: 0, refused: 0 }
  const honest = async () => {
    for (; !over.aborted; others.asked += 1) {
      const { status } = await callerOf(url, bystander).get('/templates')
      if (status !== 200) others.refused += 1
    }
  }
  await Promise.all([honest(), ...Array.from({ length: AT_ONCE }, client)])
  if (others.refused > 0) throw new Error(`${others.refused} requests of another project were refused`)
  return [
    `alone ${alone} after ${aloneMs} ms`,
    ...[...seen].map(([code, count]) => `${count} × ${code}`),
  ].join(', ')
}

export const simulationFlood: Attack = {
  name: 'simulations of a workflow that is costly to render, many at a time',
  before: 'each held a connection of the database while it waited for its turn to render',
  run: async (target) => {
    const config = { url: 'https://a.example/', method: 'POST', body: { text: LOOP } }
    const id = await newWorkflow(target, 20, { type: 'WEBHOOK', config })
    return flood(target, id, { contact: CONTACT, context: { l: Array(7_000).fill(1), x: '<&>' } })
  },
}

/** No search is slow for a part like this one but in a text of its first letter. */
const part = (ending: string): string => `${'a'.repeat(500)}${ending}${'a'.repeat(450)}`
const searching = (ending: number) => ({
  ...{ field: 'data.text', operator: 'contains', value: part(String.fromCharCode(98 + ending)) },
})

export const simulatedSearches: Attack = {
  name: 'simulations of conditions that search long texts, many at a time',
  before:
    'a condition took 50 ms of the only thread for each of its filters, and nothing added up a hundred of them',
  run: async (target) => {
    const groups = Array.from({ length: 14 }, (_, index) => ({ filters: [searching(index)] }))
    const step = { type: 'CONDITION', config: { condition: { logic: 'OR', groups } } }
    const id = await newWorkflow(target, 20, step, 'no')
    return flood(target, id, { contact: { ...CONTACT, data: { text: 'a'.repeat(60_000) } }, context: {} })
  },
}
