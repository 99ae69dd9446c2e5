import pg from 'pg'
import * as assert from 'uvu/assert'
import type { Body, Project, Service } from '../../support/service.ts'
import { DAY, got, newContacts } from '../events/event-support.ts'

/** A project with contacts. */
export async function newAudience(service: Service, size = 3) {
  const project = await service.newProject()
  const people = await newContacts(service, size, project)
  return { project, person: (index: number): string => people[index % size] ?? people[0] }
}

export type OpenTransaction = {
  query: (text: string, values: unknown[]) => Promise<void>
  commit: () => Promise<void>
}

/** Runs the work beside a transaction that stays open until the work commits it. */
export async function whileOpen({ databaseUrl }: Service, work: (open: OpenTransaction) => Promise<void>) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('begin')
    await work({
      query: async (text, values) => {
        await client.query(text, values)
      },
      commit: async () => {
        await client.query('commit')
      },
    })
  } finally {
    await client.end()
  }
}

/** What GET /events/stats has to say: by looking at every event. */
const naive = ({ sql }: Service, { id }: Project, from: Date, to: Date): Promise<Body[]> =>
  sql(
    `select name, count(*)::int as count, count(distinct contact_id)::int as "uniqueContacts" from events
     where project_id = $1 and created_at >= $2 and created_at < $3 group by name order by count desc, name`,
    [id, from, to],
  )

export type Range = { from: string; to: string }

/** A day is meant whole. */
const endOf = (text: string): Date => (text.length === 10 ? new Date(Date.parse(text) + DAY) : new Date(text))

/** Names, numbers of names and statistics of ranges have to be those of a look at every event. */
export async function assertCounts(service: Service, project: Project, ranges: Range[] = []): Promise<void> {
  const all = await naive(service, project, new Date(0), new Date(Date.UTC(9000, 0)))
  const { eventNames } = await got(service, '/names', project)
  assert.equal(eventNames, all.map(({ name }) => name).toSorted())
  const { total } = await got(service, '?limit=1', project)
  assert.is(
    total,
    all.reduce((sum, { count }) => sum + count, 0),
  )
  for (const { name, count, uniqueContacts } of all) {
    const usage = await got(service, `/${name}/usage`, project)
    assert.equal([usage.totalCount, usage.uniqueContacts], [count, uniqueContacts], name)
  }
  for (const { from, to } of ranges) {
    const query = new URLSearchParams({ startDate: from, endDate: to })
    const expected = await naive(service, project, new Date(from), endOf(to))
    assert.equal(await got(service, `/stats?${query}`, project), expected, `${from} to ${to}`)
  }
}

/** The counts of settled days are those of their events. */
export async function countsAgree({ sql }: Service, { id }: Project): Promise<boolean> {
  const [wrong] = await sql(
    `with edge as (
       select coalesce(max((settled_until at time zone 'UTC')::date), '1970-01-01') as day
       from event_recounts where project_id = $1
     ),
     counted as (
       select name, (created_at at time zone 'UTC')::date as day, count(*)::int as count from events
       where project_id = $1 and (created_at at time zone 'UTC')::date < (select day from edge) group by 1, 2
     )
     select from (
         select name, day, count from event_counts
         where project_id = $1 and count <> 0 and day < (select day from edge)) kept
       full join counted using (name, day) where kept.count is distinct from counted.count
     union all
     select from (select name, count from event_names where project_id = $1 and count <> 0) kept
       full join (select name, sum(count)::int as count from counted group by name) total using (name)
       where kept.count is distinct from total.count`,
    [id],
  )
  return wrong === undefined
}
