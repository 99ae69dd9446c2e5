import { setTimeout as pause } from 'node:timers/promises'
import { valuesOf } from '../../src/db/sql.ts'
import { wakeExecutions } from '../../src/features/workflows/engine/follow-events.sql.ts'
import type { ServiceProcess } from '../processes.ts'
import { type Tenant, type World, withService } from '../tenants/world.ts'
import { newContacts, newWorkflow, report, request } from './journeys.ts'

const EVENT = 'paid'
const SETTLE_MS = 3_000
const WAKE_LIMIT_MS = 30_000

type Cost = { transactions: number; databaseMs: number; cpuMs: number }

/** What a process that has nothing to do costs in a minute: its own processor time, and the database's work. */
async function costOf({ client }: World, service: ServiceProcess, seconds: number): Promise<Cost> {
  const read = async () => {
    const { rows } = await client.query<{ transactions: number; databaseMs: number }>(
      `select (xact_commit + xact_rollback)::int as transactions, active_time as "databaseMs"
       from pg_stat_database where datname = current_database()`,
    )
    return { cpuMs: service.cpuSeconds() * 1_000, ...(rows[0] ?? { transactions: 0, databaseMs: 0 }) }
  }
  // What this connection has done before would be counted late.
  await client.query('select pg_stat_force_next_flush()')
  await pause(SETTLE_MS)
  const before = await read()
  await pause(seconds * 1_000)
  const after = await read()
  const aMinute = (key: keyof Cost) => ((after[key] - before[key]) * 60) / seconds
  return {
    transactions: aMinute('transactions'),
    databaseMs: aMinute('databaseMs'),
    cpuMs: aMinute('cpuMs'),
  }
}

const told = ({ transactions, databaseMs, cpuMs }: Cost) =>
  `${Math.round(transactions)} transactions, ${Math.round(databaseMs)} ms in the database, ${Math.round(cpuMs)} ms of the process`

/** What executions cost that wait for an event, for 30 days at most, and how one of them is found by its event. */
export async function benchWaiting(
  world: World,
  tenant: Tenant,
  { waiting, seconds }: { waiting: number; seconds: number },
): Promise<void> {
  await withService(world, async (service) => {
    const step = { type: 'WAIT_FOR_EVENT', config: { eventName: EVENT, timeout: 2_592_000 } }
    const { id, lastStepId } = await newWorkflow(service, tenant.secret, 'nobody.does.that', [step])
    report(['a minute in which nobody waits', told(await costOf(world, service, seconds))])
    await addWaiting(world, tenant.id, { id, lastStepId }, waiting)
    report([`a minute in which ${waiting} executions wait`, told(await costOf(world, service, seconds))])
    const email = `w${Math.ceil(waiting / 2)}@example.org`
    const began = performance.now()
    await request(service, tenant.public, 'POST', '/v1/track', { email, event: EVENT })
    const woken = await wokenOf(world, id)
    const took = Math.round(performance.now() - began)
    if (woken.length !== 1 || woken[0] !== email) throw new Error(`The event has woken ${woken}`)
    report([`an event for one of ${waiting} that wait`, `it alone is over after ${took} ms`])
    report(['… found by', await wakingPlan(world, tenant.id)])
  })
}

async function addWaiting(
  world: World,
  projectId: string,
  { id, lastStepId }: { id: string; lastStepId: string },
  count: number,
): Promise<void> {
  const contacts = await newContacts(world, projectId, count)
  await world.client.query(
    `insert into workflow_executions (project_id, id, workflow_id, contact_id, status, current_step_id, context,
       waiting_for_event, waiting_since, next_at, started_at)
     select $1, gen_random_uuid(), $2, contact_id, 'WAITING', $3, '{}', $4, now(), now() + interval '30 days', now()
     from unnest($5::uuid[]) as contact_id`,
    [projectId, id, lastStepId, EVENT, contacts],
  )
  await world.client.query('vacuum (analyze) workflow_executions, contacts')
}

/** The addresses of those that do not wait any more, when there are some. */
async function wokenOf({ client }: World, workflowId: string): Promise<string[]> {
  const deadline = performance.now() + WAKE_LIMIT_MS
  while (performance.now() < deadline) {
    const { rows } = await client.query<{ email: string }>(
      `select c.email from workflow_executions x join contacts c on c.project_id = x.project_id and c.id = x.contact_id
       where x.workflow_id = $1 and x.status = 'COMPLETED'`,
      [workflowId],
    )
    if (rows.length > 0) return rows.map(({ email }) => email)
    await pause(20)
  }
  return []
}

/** The index by which the statement of the engine finds who waits. */
async function wakingPlan({ client }: World, projectId: string): Promise<string> {
  const { rows: events } = await client.query<{ id: string; contact_id: string }>(
    'select id, contact_id from events where project_id = $1 limit 1',
    [projectId],
  )
  const values = valuesOf(wakeExecutions, {
    ...{ projectId, now: new Date(), names: [EVENT] },
    contactIds: events.map((event) => event.contact_id),
    eventIds: events.map(({ id }) => id),
  })
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${wakeExecutions.text}`, values)
  const plan = rows.map((row) => row['QUERY PLAN'])
  if (plan.some((line) => line.includes('Seq Scan on workflow_executions'))) throw new Error(plan.join('\n'))
  return plan.flatMap((line) => /Scan using (workflow_executions\w+)/.exec(line)?.[1] ?? []).join(', ')
}
