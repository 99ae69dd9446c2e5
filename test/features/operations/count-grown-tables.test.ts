import * as assert from 'uvu/assert'
import { countGrownTables } from '../../../src/features/operations/count-grown-tables.job.ts'
import { query } from '../../support/query.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'

/** Adds contacts with an event each; the connection ends, so Postgres has counted them. */
async function grow({ databaseUrl, project }: Service, rows: number): Promise<void> {
  await query(
    databaseUrl,
    `with contact as (
       insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
       select $1, gen_random_uuid(), gen_random_uuid() || '@example.org', true, now(), now()
       from generate_series(1, $2::int) returning project_id, id
     )
     insert into events (project_id, id, contact_id, name, created_at)
     select project_id, gen_random_uuid(), id, 'grown', now() from contact`,
    [project.id, rows],
  )
}

/** What the planner knows of tables, their names in the order of the alphabet. */
async function known({ sql }: Service): Promise<number[]> {
  const rows = await sql<{ rows: number }>(
    `select reltuples as rows from pg_class where oid = any(array['contacts', 'events', 'events_base']::regclass[])
     order by relname`,
  )
  return rows.map(({ rows }) => rows)
}

scenario(
  'Tables that grow',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('are counted anew when they have four times the rows, with those that they are parts of', async (service) => {
      const own = { ...service, project: await service.newProject() }
      const before = await known(own)
      await grow(own, 900)
      await countGrownTables(own.ctx())
      assert.equal(await known(own), before, 'small ones are left alone')
      await grow(own, 1_100)
      await countGrownTables(own.ctx())
      const counted = await known(own)
      for (const rows of counted) assert.ok(rows >= 2_000, String(counted))
      const most = Math.max(...counted)
      await grow(own, 2 * Math.min(...counted))
      await countGrownTables(own.ctx())
      assert.equal(await known(own), counted, 'not before')
      await grow(own, 3 * most)
      await countGrownTables(own.ctx())
      for (const [index, rows] of (await known(own)).entries()) assert.ok(rows >= 4 * Number(counted[index]))
    })
  },
)

scenario(
  'A worker',
  () => startService(),
  (test) => {
    test('looks after them', async (service) => {
      await grow(service, 1_500)
      await until('the tables to be counted', async () =>
        (await known(service)).every((rows) => rows === 1_500),
      )
    })
  },
)
