import { setTimeout as pause } from 'node:timers/promises'
import { query } from '../../support/query.ts'
import { callerOf } from '../../support/service.ts'
import type { Attack, Target } from '../define-attack.ts'

const CONTACTS = 200
const AT_ONCE = 40
const LASTING_MS = 12_000

/** A workflow whose steps cause the event that starts it, for every contact of the tenant. */
async function startLoops({ url, databaseUrl, unlimited }: Target): Promise<string> {
  const contacts = await query<{ id: string }>(
    databaseUrl,
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, gen_random_uuid(), 'loop' || n || '@example.org', true, now(), now()
     from generate_series(1, $2::int) as n returning id`,
    [unlimited.id, CONTACTS],
  )
  const caller = callerOf(url, unlimited)
  const { body: workflow } = await caller.post('/workflows', {
    name: 'Loop',
    eventName: 'contact.subscribed',
    allowReentry: true,
  })
  let last = workflow.steps[0].id
  for (const subscriptionAction of ['unsubscribe', 'subscribe']) {
    const step = { type: 'UPDATE_CONTACT', config: { subscriptionAction } }
    const { body } = await caller.post(`/workflows/${workflow.id}/steps`, step)
    await caller.post(`/workflows/${workflow.id}/transitions`, { fromStepId: last, toStepId: body.id })
    last = body.id
  }
  await caller.patch(`/workflows/${workflow.id}`, { enabled: true })
  for (let first = 0; first < contacts.length; first += AT_ONCE) {
    const some = contacts.slice(first, first + AT_ONCE)
    await Promise.all(
      some.map(({ id }) => caller.post(`/workflows/${workflow.id}/executions`, { contactId: id })),
    )
  }
  return workflow.id
}

export const workflowLoop: Attack = {
  name: 'a workflow that starts itself, for many contacts',
  before: 'it would go on for ever',
  run: async (target) => {
    const id = await startLoops(target)
    await pause(LASTING_MS)
    const [found] = await query<{ executions: number; stopped: number; most: number }>(
      target.databaseUrl,
      `select count(*)::int as executions, (count(*) filter (where status = 'FAILED'))::int as stopped,
         (select max(count) from (select count(*)::int from workflow_executions where workflow_id = $1
          group by contact_id) each)::int as most
       from workflow_executions where workflow_id = $1`,
      [id],
    )
    if ((found?.most ?? 0) > 50) throw new Error(`A contact has entered ${found?.most} times`)
    return `${found?.executions} executions, at most ${found?.most} of a contact, ${found?.stopped} stopped`
  },
}
