import * as assert from 'uvu/assert'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import {
  fieldsNotSeen,
  fieldsOfContacts,
  forgetUnusedEventNames,
} from '../../../src/features/operations/unused-names.sql.ts'
import { HOUR } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { newContact } from '../contacts/contact-support.ts'
import { newSegment, treeOf, triggered } from '../segments/segment-support.ts'

const DAY = 24 * HOUR
const start = () => startService({ ROLES: 'http' })
const purge = (service: Service) => purgeExpiredJob.run(service.ctx(), {})

const namesIn = async ({ sql }: Service, table: string, { id }: Project): Promise<string[]> =>
  (await sql<{ name: string }>(`select name from ${table} where project_id = $1 order by name`, [id])).map(
    ({ name }) => name,
  )

const track = (service: Service, project: Project, event: string, email = 'ada@example.org') =>
  service.as(project.public).post('/v1/track', { email, event })

const deleteContact = (service: Service, project: Project, id: string) =>
  service.as(project).delete(`/contacts/${id}`)

scenario('Names that nothing has any more', start, (test) => {
  test('of events are forgotten two days after the last one was tracked', async (service) => {
    const project = await service.newProject()
    const { body } = await track(service, project, 'gone')
    await track(service, project, 'left', 'grace@example.org')
    await track(service, project, 'referred to')
    const asks = { name: 'Asks', condition: treeOf(triggered('referred to')) }
    await newSegment(service, asks, project)
    await deleteContact(service, project, body.data.contact)
    service.clock.advance(2 * DAY - HOUR)
    await purge(service)
    assert.equal(await namesIn(service, 'event_names', project), ['gone', 'left', 'referred to'])
    service.clock.advance(2 * HOUR)
    await purge(service)
    assert.equal(await namesIn(service, 'event_names', project), ['left', 'referred to'])
    await track(service, project, 'gone')
    assert.equal(await namesIn(service, 'event_names', project), ['gone', 'left', 'referred to'])
  })

  test('of fields are forgotten when nobody has set them for 30 days', async (service) => {
    const project = await service.newProject()
    const { id } = await newContact(service, { data: { gone: 1, again: 1, asked: 1 } }, project)
    await newContact(service, { data: { left: 1 } }, project)
    const asks = { name: 'Asks', condition: treeOf({ field: 'data.asked', operator: 'exists' }) }
    await newSegment(service, asks, project)
    await deleteContact(service, project, id)
    service.clock.advance(29 * DAY)
    await purge(service)
    assert.equal(await namesIn(service, 'contact_fields', project), ['again', 'asked', 'gone', 'left'])
    const other = await newContact(service, { data: { again: 1 } }, project)
    await deleteContact(service, project, other.id)
    service.clock.advance(2 * DAY)
    await purge(service)
    assert.equal(await namesIn(service, 'contact_fields', project), ['again', 'asked', 'left'])
  })

  test('of fields are looked for in all contacts, however many', async (service) => {
    const project = await service.newProject()
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, gen_random_uuid(), n || '@example.org', true, jsonb_build_object('field ' || n, n), now(), now()
       from generate_series(1, 2500) n`,
      [project.id],
    )
    await service.sql(
      `insert into contact_fields (project_id, name, type, created_at)
       select $1, 'field ' || n, 'number', now() from generate_series(1, 2600) n`,
      [project.id],
    )
    // Some hundred in each hour.
    for (let hour = 0; hour < 6; hour += 1) await purge(service)
    const left = await namesIn(service, 'contact_fields', project)
    assert.is(left.length, 2_500)
    assert.not.ok(left.includes('field 2501'))
  })

  test('make room for others', async () => {
    const small = await startService({ ROLES: 'http', QUOTA_EVENT_NAMES: '1' })
    try {
      const { body } = await track(small, small.project, 'first')
      await deleteContact(small, small.project, body.data.contact)
      assert.is((await track(small, small.project, 'second')).status, 422)
      small.clock.advance(3 * DAY)
      await purge(small)
      assert.is((await track(small, small.project, 'second')).status, 200)
    } finally {
      await small.stop()
    }
  })
})

/** A project of some size beside a small one. */
async function large(): Promise<Service> {
  const service = await start()
  const { sql, project } = service
  for (const [id, size] of [
    [project.id, 50_000],
    [(await service.newProject()).id, 500],
  ]) {
    await sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, gen_random_uuid(), n || '@example.org', true, '{"plan": "pro"}', now(), now()
       from generate_series(1, $2::int / 5) n`,
      [id, size],
    )
    await sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select project_id, gen_random_uuid(), id, 'event ' || n % 1000, now()
       from contacts, generate_series(1, 5) n where project_id = $1`,
      [id],
    )
    await sql(
      `insert into event_names (project_id, name, count) select $1, 'event ' || n, 0 from generate_series(1, 9000) n`,
      [id],
    )
    await sql(
      `insert into contact_fields (project_id, name, type, created_at)
       select $1, 'field ' || n, 'number', now() from generate_series(1, 2000) n`,
      [id],
    )
    await sql(
      `insert into interests (project_id, consumer, consumer_id, kind, name, listens)
       select $1, 'SEGMENT', gen_random_uuid(), 'EVENT', 'event ' || n, true from generate_series(1, 5000) n`,
      [id],
    )
  }
  for (const table of ['contacts', 'events', 'event_names', 'contact_fields', 'interests'])
    await sql(`analyze ${table}`)
  return service
}

/** The scans of a plan: the relation, or its one partition, and how it is read. */
function scansOf(plan: Body): string[] {
  const own = plan['Relation Name'] ? [`${plan['Relation Name']}: ${plan['Node Type']}`] : []
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)]
}

scenario('Looking for unused names', large, (test) => {
  const readsByIndex = (what: string, tables: string[], statement: { text: string }, values: unknown[]) =>
    test(`${what} reads large tables by their indexes`, async (service) => {
      const rows = await service.sql<Body>(`explain (format json) ${statement.text}`, [
        ...[service.project.id, ...values],
      ])
      const scans = scansOf(rows[0]['QUERY PLAN'][0].Plan)
      for (const table of tables) {
        const found = scans.filter((scan) =>
          [table, `${table}_base`].some((name) => scan.startsWith(`${name}:`)),
        )
        assert.ok(found.length > 0, scans.join())
        for (const scan of found) assert.match(scan, /Index/, scans.join())
      }
    })

  const now = new Date()
  readsByIndex('of events', ['events', 'interests'], forgetUnusedEventNames, [now, 1_000])
  readsByIndex('of fields', ['interests'], fieldsNotSeen, [now, 500])
  const names = Array.from({ length: 500 }, (_, n) => `field ${n}`)
  const first = '00000000-0000-7000-8000-000000000000'
  readsByIndex('in contacts', ['contacts'], fieldsOfContacts, [first, 1_000, names])
})
