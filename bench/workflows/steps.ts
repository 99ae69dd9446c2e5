import { startServiceProcess } from '../processes.ts'
import type { World } from '../tenants/world.ts'
import { newContacts, newWorkflow, PASSED, report, startAll, untilOver } from './journeys.ts'

/** Executions of one commit, as in the engine. */
const BATCH = 200

/** How fast a worker moves executions that are all due, beside the least that a database has to write for that. */
export async function benchSteps(world: World, executions: number): Promise<void> {
  const { database } = world
  const { id: projectId, secret } = database.project
  const http = await startServiceProcess(await database.env({ ROLES: 'http' }))
  const { id } = await newWorkflow(http, secret, 'nobody.does.this')
  await http.stop()
  await startAll(world, projectId, id, await newContacts(world, projectId, executions))
  const bare = await bareRate(world, executions)
  const worker = await startServiceProcess(await database.env({ ROLES: 'worker' }))
  try {
    const { steps, seconds } = await untilOver(world, id, executions)
    const rate = steps / seconds
    const ratio = (rate / bare).toFixed(2)
    report([
      `${executions} executions, ${steps} steps`,
      `${Math.round(rate)} steps/s; bare ${Math.round(bare)}/s, ratio ${ratio}`,
    ])
    const cpu = ((worker.cpuSeconds() * 1_000_000) / steps).toFixed(0)
    report(['CPU of the worker, start included', `${cpu} µs a step`])
    report(['memory of the worker', `${Math.round(worker.peakMemory())} MB`])
  } finally {
    await worker.stop()
  }
}

/**
 * Steps that a loop on one connection writes a second with the same commits: it takes as many rows as the engine does, moves
 * them and adds a row for each step.
 */
async function bareRate({ client }: World, executions: number): Promise<number> {
  await client.query(`
    create table bare_executions (id int primary key, step int not null, next_at timestamptz);
    create index on bare_executions (next_at, id) where next_at is not null;
    create table bare_steps (execution_id int, step int, completed_at timestamptz, primary key (execution_id, step));
    insert into bare_executions select n, 0, now() from generate_series(1, ${executions}) n;
    analyze bare_executions`)
  const began = performance.now()
  for (let left = executions * PASSED; left > 0; left -= Math.min(left, BATCH)) {
    await client.query('begin')
    const { rows } = await client.query<{ id: number }>({
      name: 'bare-due',
      text: `select id from bare_executions where next_at <= now() order by next_at, id limit ${BATCH} for update`,
    })
    await client.query({
      name: 'bare-move',
      text: `with moved as (
          update bare_executions set step = step + 1, next_at = case when step < ${PASSED - 1} then now() end
          where id = any($1) returning id, step)
        insert into bare_steps select id, step, now() from moved`,
      values: [rows.map(({ id }) => id)],
    })
    await client.query('commit')
  }
  const rate = (executions * PASSED * 1_000) / (performance.now() - began)
  await client.query('drop table bare_executions, bare_steps')
  return rate
}
