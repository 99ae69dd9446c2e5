import { setTimeout as pause } from 'node:timers/promises'
import { systemOf } from '../../src/admission/access.ts'
import { createCtx } from '../../src/ctx.ts'
import { startExecutions } from '../../src/features/workflows/executions/executions.sql.ts'
import { newId } from '../../src/lib/ids.ts'
import type { ServiceProcess } from '../processes.ts'
import type { World } from '../tenants/world.ts'

const CHUNK = 1_000
const LIMIT_MS = 150_000

export type Row = [what: string, figure: string]

/** Adds a row of the report, as soon as it is known. */
export const report = ([what, figure]: Row): void => console.log(`| ${what} | ${figure} |`)

type Answer = { id: string; steps: { id: string }[] }

/** A request that must succeed. */
export async function request(
  { url }: ServiceProcess,
  key: string,
  method: string,
  path: string,
  body: object,
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response.json()
}

/** Steps that cost the engine: one changes the contact, one asks it, one waits, and one ends. */
const STEPS = [
  { type: 'UPDATE_CONTACT', config: { updates: { seen: true } } },
  { type: 'CONDITION', config: { field: 'data.seen', operator: 'equals', value: true } },
  { type: 'DELAY', config: { until: '2020-01-01T00:00:00Z' } },
  { type: 'EXIT', config: { reason: 'done' } },
]

/** Steps that an execution passes, the TRIGGER included. */
export const PASSED = STEPS.length + 1

/** An enabled workflow that an event starts; the id of it and of its last step. */
export async function newWorkflow(
  service: ServiceProcess,
  key: string,
  eventName: string,
  steps: { type: string; config: object }[] = STEPS,
): Promise<{ id: string; lastStepId: string }> {
  const workflow = await request(service, key, 'POST', '/workflows', { name: 'Bench', eventName })
  const path = `/workflows/${workflow.id}`
  let last = { id: workflow.steps[0]?.id ?? '', branch: {} }
  for (const step of steps) {
    const { id } = await request(service, key, 'POST', `${path}/steps`, step)
    const way = { fromStepId: last.id, toStepId: id, ...last.branch }
    await request(service, key, 'POST', `${path}/transitions`, way)
    last = { id, branch: step.type === 'CONDITION' ? { branch: 'yes' } : {} }
  }
  await request(service, key, 'PATCH', path, { enabled: true })
  return { id: workflow.id, lastStepId: last.id }
}

/** Makes contacts past the service and returns their ids. */
export async function newContacts({ client }: World, projectId: string, count: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, gen_random_uuid(), 'w' || n || '@example.org', true, '{}', now(), now()
     from generate_series(1, $2::int) as n returning id`,
    [projectId, count],
  )
  await client.query('analyze contacts')
  return rows.map(({ id }) => id)
}

/** Starts executions as a burst of events does. */
export async function startAll(
  { database }: World,
  projectId: string,
  workflowId: string,
  contacts: string[],
): Promise<void> {
  const ctx = createCtx(database.services, systemOf(projectId), 'bench')
  for (let first = 0; first < contacts.length; first += CHUNK) {
    const some = contacts.slice(first, first + CHUNK)
    await ctx.sql(startExecutions, {
      ...{ projectId, context: '{}', clockShift: 0 },
      ids: some.map(() => newId(new Date())),
      workflowIds: some.map(() => workflowId),
      contactIds: some,
      eventIds: some.map(() => null),
    })
  }
}

type Moved = { steps: number; seconds: number; over: number }

/** Waits until the executions of a workflow are over. What they took is from the first step to the last, as the database has written it. */
export async function untilOver(
  { client }: World,
  workflowId: string,
  executions: number,
): Promise<{ steps: number; seconds: number }> {
  const deadline = performance.now() + LIMIT_MS
  for (;;) {
    const { rows } = await client.query<Moved>(
      `select count(s.id)::int as steps,
         (count(*) filter (where s.step_id = x.current_step_id and x.status = 'EXITED'))::int as over,
         extract(epoch from max(s.completed_at) - min(s.started_at))::float8 as seconds
       from workflow_executions x join step_executions s on s.project_id = x.project_id and s.execution_id = x.id
       where x.workflow_id = $1`,
      [workflowId],
    )
    const [moved] = rows
    if (moved?.over === executions) return moved
    if (performance.now() > deadline) throw new Error(`Only ${moved?.over} executions have ended`)
    await pause(500)
  }
}
