import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { systemOf } from '../src/admission/access.ts'
import { createCtx, type Services } from '../src/ctx.ts'
import { followSegmentsJob } from '../src/features/memberships/follow-segments.job.ts'
import type { BenchDatabase } from './bench-database.ts'
import { load, percentileOf } from './http-load.ts'
import { type ServiceProcess, startServiceProcess } from './processes.ts'

const CHANGES = 50_000
const TRACKS = 10_000
const FOLLOWED = 60
const TIMEOUT_MS = 600_000

type Timed = {
  seconds: number
  /** What the memory of the process grew by, in MB, and its peak. */
  growth: number
  peakMemory: number
  answer: { added: number; removed: number; total: number }
}

export type SegmentResult = {
  /** All contacts enter. */
  first: Timed
  /** 50,000 of the members leave, and enter again. */
  exits: Timed
  entries: Timed
  /** Nothing has changed. */
  unchanged: Timed
  /** From the answer to a change of a contact to the commit of the event, in ms. */
  follow: { p50: number; p95: number }
  storm: { trackSeconds: number; drainSeconds: number; commits: number }
  deletion: { seconds: number; status: number }
}

/** A tracked segment that has all contacts of a database made by `startAudienceDatabase`. */
export async function benchSegments(database: BenchDatabase): Promise<SegmentResult> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  const worker = await startServiceProcess(await database.env({ ROLES: 'worker' }))
  const bench = { database, client, service, worker }
  try {
    // What an earlier run in a kept directory may have left.
    await client.query('delete from segments where project_id = $1', [database.project.id])
    await client.query(
      `update contacts set data = data || '{"score": 1}' where project_id = $1 and (data ->> 'score')::int < 0`,
      [database.project.id],
    )
    const { id, ...first } = await timed(bench, () => newSegment(bench))
    await setScores(bench, -1)
    const exits = await compute(bench, id)
    await setScores(bench, 1)
    const entries = await compute(bench, id)
    const unchanged = await compute(bench, id)
    await client.query('vacuum analyze')
    const follow = await followLatency(bench)
    await worker.stop()
    const storm = await trackStorm(bench)
    const deletion = await deleteSegment(bench, id)
    return { first, exits, entries, unchanged, follow, storm, deletion }
  } finally {
    await client.end()
    await worker.stop()
    await service.stop()
  }
}

type Bench = { database: BenchDatabase; client: pg.Client; service: ServiceProcess; worker: ServiceProcess }

async function request({ database, service }: Bench, method: string, path: string, body?: object) {
  return fetch(`${service.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${database.project.secret}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
}

async function newSegment(bench: Bench): Promise<string> {
  const filter = { field: 'data.score', operator: 'greaterThanOrEqual', value: 0 }
  const condition = { logic: 'AND', groups: [{ filters: [filter] }] }
  const body = { name: 'Everybody', condition, trackMembership: true }
  const answer = await request(bench, 'POST', '/segments', body)
  const { id } = (await answer.json()) as { id: string }
  return id
}

async function compute(bench: Bench, id: string): Promise<Timed> {
  const { id: _, ...result } = await timed(bench, async () => {
    const answer = await request(bench, 'POST', `/segments/${id}/compute`)
    if (!answer.ok) throw new Error(`the segment was not computed: ${await answer.text()}`)
    return id
  })
  return result
}

/** How long the pass takes that a request has asked for, which returns the segment's id. The worker does it. */
async function timed(bench: Bench, ask: () => Promise<string>): Promise<Timed & { id: string }> {
  const { client, database, worker } = bench
  const before = worker.memory()
  const startedAt = performance.now()
  const id = await ask()
  for (const deadline = startedAt + TIMEOUT_MS; performance.now() < deadline; ) {
    const { rows } = await client.query<Timed['answer']>(
      `select ended_added as added, ended_removed as removed, member_count as total from segments
       where project_id = $1 and id = $2 and pass_ended >= pass_asked`,
      [database.project.id, id],
    )
    const [answer] = rows
    if (answer) {
      const seconds = (performance.now() - startedAt) / 1000
      const memory = { growth: worker.memory() - before, peakMemory: worker.peakMemory() }
      const result = { id, seconds, ...memory, answer }
      console.error(result)
      return result
    }
    await pause(10)
  }
  throw new Error('the segment was not computed in time')
}

/** Changes some contacts all over the table, past the service: nobody follows that. */
async function setScores({ client, database }: Bench, score: number): Promise<void> {
  await client.query(
    `update contacts set data = data || jsonb_build_object('score', $3::int)
     where project_id = $1 and id in (select id from contacts where project_id = $1
       and (hashtext(id::text) & 2147483647) % 20 = 0 order by id limit $2)`,
    [database.project.id, CHANGES, score],
  )
}

/** One change at a time, to contacts that leave and enter in turn. */
async function followLatency(bench: Bench): Promise<{ p50: number; p95: number }> {
  const { client, database } = bench
  const latencies: number[] = []
  const { rows } = await client.query<{ id: string }>(
    'select id from contacts where project_id = $1 limit $2',
    [database.project.id, FOLLOWED],
  )
  for (const { id } of rows) {
    await request(bench, 'PATCH', `/contacts/${id}`, { data: { score: -1 } })
    const startedAt = performance.now()
    await arrival(bench, id)
    latencies.push(performance.now() - startedAt)
    // Not in step with the follower.
    await pause(Math.random() * 1_000)
  }
  return percentileOf(latencies)
}

async function arrival({ client, database }: Bench, contactId: string): Promise<void> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const { rowCount } = await client.query(
      `select from events where project_id = $1 and contact_id = $2 and name = 'segment.everybody.exit'
       and created_at > now() - interval '1 minute'`,
      [database.project.id, contactId],
    )
    if (rowCount) return
    await pause(2)
  }
  throw new Error('the segment does not follow the contact')
}

/** The follower runs in this process, so that its commits can be counted. */
async function trackStorm(bench: Bench): Promise<SegmentResult['storm']> {
  const { client, database, service } = bench
  const counted = countCommits(database.services)
  const follower = followInProcess(counted.services, database.project.id)
  const startedAt = performance.now()
  const { failed } = await load(
    service.url,
    (index) => ({
      path: '/v1/track',
      key: database.project.public,
      body: { email: `storm-${index % 100}@example.org`, event: 'stormed' },
    }),
    { connections: 16, seconds: 120, requests: TRACKS },
  )
  if (failed > 0) throw new Error(`${failed} events were not tracked`)
  const trackedAt = performance.now()
  for (let left = 1; left > 0; ) {
    await pause(10)
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from changes where project_id = $1',
      [database.project.id],
    )
    left = rows[0]?.count ?? 0
  }
  const drainedAt = performance.now()
  await follower.stop()
  return {
    trackSeconds: (trackedAt - startedAt) / 1000,
    drainSeconds: (drainedAt - trackedAt) / 1000,
    commits: counted.commits(),
  }
}

/** One slice after the other, as a worker has them. */
function followInProcess(services: Services, projectId: string): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const turn = { projectId, jobId: projectId, attempt: 0, priority: 0, standing: 'fresh', signal } as const
  const run = async () => {
    while (!signal.aborted) {
      const until = performance.now() + 1_000
      const hasTime = () => !signal.aborted && performance.now() < until
      const ctx = createCtx(services, systemOf(projectId), 'bench')
      const asking = { askForMore: () => {}, askAgain: () => {} }
      await followSegmentsJob.slice(ctx, { ...turn, ...asking, isHeld: () => true, hasTime })
      await pause(10)
    }
  }
  const running = run()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

function countCommits(services: Services): { services: Services; commits: () => number } {
  let commits = 0
  const prisma = new Proxy(services.database.prisma, {
    get(target, name) {
      if (name === '$transaction') commits += 1
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { services: { ...services, database: { ...services.database, prisma } }, commits: () => commits }
}

async function deleteSegment(bench: Bench, id: string): Promise<SegmentResult['deletion']> {
  const startedAt = performance.now()
  const { status } = await request(bench, 'DELETE', `/segments/${id}`)
  return { seconds: (performance.now() - startedAt) / 1000, status }
}

if (import.meta.main) {
  const { startAudienceDatabase } = await import('./audience-database.ts')
  const { values } = parseArgs({
    options: { contacts: { type: 'string', default: '1000000' }, keep: { type: 'string' } },
  })
  const contacts = Number(values.contacts)
  const sizes = { contacts, events: contacts, rareNames: 1_000 }
  const database = await startAudienceDatabase(sizes, values.keep)
  try {
    console.log(await benchSegments(database))
  } finally {
    await database.stop()
  }
}
