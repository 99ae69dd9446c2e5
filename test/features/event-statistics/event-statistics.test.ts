import * as assert from 'uvu/assert'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { graphqlValue } from '../contacts/contact-support.ts'
import { DAY, got, newContacts, record, recount } from '../events/event-support.ts'

type World = { service: Service; project: Project; ada: string; bob: string }
type Range = { startDate?: string; endDate?: string }

const start = () => startService({ ROLES: 'http' })

async function newWorld(service: Service): Promise<World> {
  const project = await service.newProject()
  const [ada, bob = ''] = await newContacts(service, 2, project)
  return { service, project, ada, bob }
}

const QUERY = `query ($startDate: String, $endDate: String) {
  eventStats(startDate: $startDate, endDate: $endDate) { name count uniqueContacts }
}`

async function statistics({ service, project }: World, range: Range = {}): Promise<Body[]> {
  const body = await got(service, `/stats?${new URLSearchParams(range)}`, project)
  assert.equal(await graphqlValue(service, QUERY, range, project), body, 'GraphQL agrees')
  return body
}

const countIn = async (world: World, range: Range): Promise<number> =>
  (await statistics(world, range))[0]?.count ?? 0

const dayOf = (date: Date) => date.toISOString().slice(0, 10)

scenario('GET /events/stats', start, (test) => {
  test('is a bare list of the names, the most frequent first', async (service) => {
    const world = await newWorld(service)
    const { ada, bob, project } = world
    assert.equal(await statistics(world), [])
    const at = service.clock.now()
    const did = (name: string, contactId: string) => ({ name, contactId, at })
    const events = [did('b', ada), did('a', ada), did('c', ada), did('c', bob), did('c', ada)]
    await record(service, events, project)
    const foreign = await newWorld(service)
    await record(service, [{ name: 'a', contactId: foreign.ada, at }], foreign.project)
    const expected = [
      { name: 'c', count: 3, uniqueContacts: 2 },
      { name: 'a', count: 1, uniqueContacts: 1 },
      { name: 'b', count: 1, uniqueContacts: 1 },
    ]
    assert.equal(await statistics(world), expected)
    service.clock.advance(MINUTE)
    await recount(service, project)
    assert.equal(await statistics(world), expected)
  })

  test('counts days whole, and instants to the millisecond, before and after the counting', async (service) => {
    const world = await newWorld(service)
    const { ada, project } = world
    const day = new Date('2026-03-04T00:00:00.000Z')
    const after = (milliseconds: number) => new Date(day.getTime() + milliseconds)
    const times = [-1, 0, 1, DAY - 1, DAY, DAY + 1, 2 * DAY - 1, 2 * DAY]
    await record(
      service,
      times.map((time) => ({ name: 'e', contactId: ada, at: after(time) })),
      project,
    )
    const iso = (milliseconds: number) => after(milliseconds).toISOString()
    const ranges: [Range, number][] = [
      [{ startDate: '2026-03-04', endDate: '2026-03-04' }, 3],
      [{ startDate: '2026-03-04', endDate: '2026-03-05' }, 6],
      [{ startDate: '2026-03-03', endDate: '2026-03-06' }, 8],
      [{ startDate: iso(-1), endDate: iso(0) }, 1],
      [{ startDate: iso(1), endDate: iso(DAY + 1) }, 3],
      [{ startDate: iso(1), endDate: iso(2 * DAY + 1) }, 6],
      [{ startDate: iso(-1), endDate: iso(2 * DAY) }, 7],
      [{ startDate: iso(0), endDate: iso(0) }, 0],
      [{ startDate: iso(-1), endDate: '2026-03-05' }, 7],
      [{ startDate: '2026-03-04', endDate: iso(2 * DAY) }, 6],
      [{ endDate: '2026-03-05' }, 7],
      [{ endDate: '2027-01-01' }, 0],
    ]
    for (const counted of [false, true]) {
      if (counted) await recount(service, project)
      for (const [range, count] of ranges) {
        assert.is(await countIn(world, range), count, `${JSON.stringify(range)} ${counted}`)
      }
    }
  })

  test('joins what is counted and what is not yet', async (service) => {
    const world = await newWorld(service)
    const { ada, bob, project } = world
    const now = service.clock.now()
    const ago = (milliseconds: number) => new Date(now.getTime() - milliseconds)
    const old = [ago(5 * DAY), ago(5 * DAY - MINUTE), ago(4 * DAY)]
    const young = [ago(30 * SECOND), ago(SECOND), now]
    const did = (contactId: string) => (at: Date) => ({ name: 'e', contactId, at })
    await record(service, [...old.map(did(ada)), ...young.map(did(bob))], project)
    await recount(service, project)
    const [row] = await service.sql('select count from event_names where project_id = $1', [project.id])
    assert.is(row?.count, old.length, 'days that may still change are counted when somebody asks')
    assert.equal(await statistics(world), [{ name: 'e', count: 6, uniqueContacts: 2 }])
    for (const [from, to, expected] of [
      [5 * DAY, 0, 5],
      [5 * DAY - MINUTE, 30 * SECOND, 2],
      [4 * DAY, SECOND, 2],
      [5 * DAY - MINUTE, 4 * DAY, 1],
    ] as const) {
      const range = { startDate: ago(from).toISOString(), endDate: ago(to).toISOString() }
      assert.is(await countIn(world, range), expected, JSON.stringify(range))
    }
    await record(service, [{ name: 'e', contactId: ada, at: now }], project)
    assert.is(await countIn(world, {}), 7)
  })

  test('cuts ranges to their last 90 days', async (service) => {
    const world = await newWorld(service)
    const days = ['2026-01-01', '2026-04-01', '2026-04-02', '2026-06-30']
    await record(
      service,
      days.map((day) => ({ name: 'e', contactId: world.ada, at: new Date(day) })),
      world.project,
    )
    assert.is(await countIn(world, { startDate: '2026-01-01', endDate: '2026-06-30' }), 2)
    assert.is(await countIn(world, { startDate: '2020-01-01', endDate: '2026-06-29' }), 2)
  })

  test('is of the last 30 days by default', async (service) => {
    const world = await newWorld(service)
    const now = service.clock.now()
    const ages = [0, 1, 29, 30, 31, 32]
    const at = (days: number) => new Date(now.getTime() - days * DAY)
    await record(
      service,
      ages.map((days) => ({ name: 'e', contactId: world.ada, at: at(days) })),
      world.project,
    )
    await recount(service, world.project)
    assert.is(await countIn(world, {}), 4)
    assert.is(await countIn(world, { startDate: dayOf(at(31)) }), 5)
  })

  test('refuses ranges that are none', async (service) => {
    for (const range of [
      { startDate: '2026-03-05', endDate: '2026-03-04' },
      { startDate: '2026-03-04T00:00:00.001Z', endDate: '2026-03-04T00:00:00.000Z' },
      { startDate: '2026-02-30' },
      { endDate: 'yesterday' },
      { startDate: '0000-01-01', endDate: '0000-01-02' },
    ]) {
      const answer = await service.as().get(`/events/stats?${new URLSearchParams(range)}`)
      assertRefused(answer, 400, 'BAD_REQUEST')
      const key = { key: service.project.secret }
      assertGraphQLRefused(await service.graphql(QUERY, range, key), 400, 'BAD_REQUEST')
    }
  })

  test('takes the first and the last years', async (service) => {
    const world = await newWorld(service)
    for (const [startDate, endDate] of [
      ['0001-01-01', '0001-01-02'],
      ['9999-12-01', '9999-12-31'],
      ['9999-12-01T00:00Z', '9999-12-31T23:59:59-14:00'],
    ] as const) {
      assert.equal(await statistics(world, { startDate, endDate }), [])
    }
  })

  test('has at most the 1,000 most frequent names', async (service) => {
    const world = await newWorld(service)
    const at = service.clock.now()
    const names = Array.from({ length: 1_001 }, (_, index) => `e${String(index).padStart(4, '0')}`)
    const events = [...names, 'e1000'].map((name) => ({ name, contactId: world.ada, at }))
    await record(service, events, world.project)
    const found = await statistics(world)
    assert.equal([found.length, found[0].name, found[999].name], [1_000, 'e1000', 'e0998'])
  })
})

scenario('The number of contacts that had an event', start, (test) => {
  test('is estimated where events are many', async (service) => {
    const world = await newWorld(service)
    const { project } = world
    const now = service.clock.now()
    // Three contacts each did it twice, of whom 1 in 32 has an id that is looked at.
    const insert = async (name: string, contacts: number, times: number) =>
      service.sql(
        `with person as (
           insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
           select $1, overlay(gen_random_uuid()::text placing lpad(to_hex(n % 256), 2, '0') from 35)::uuid,
             $2 || n || '@example.org', true, $5, $5 from generate_series(0, $3 - 1) n returning id
         )
         insert into events (project_id, id, contact_id, name, created_at)
         select $1, gen_random_uuid(), id, $2, $5 from person, generate_series(1, $4)`,
        [project.id, name, contacts, times, now],
      )
    await insert('often', 51_200, 2)
    await insert('seldom', 300, 1)
    assert.equal(await statistics(world), [
      { name: 'often', count: 102_400, uniqueContacts: 51_200 },
      { name: 'seldom', count: 300, uniqueContacts: 300 },
    ])
    const usage = await got(service, '/often/usage', project)
    assert.equal([usage.totalCount, usage.uniqueContacts], [102_400, 51_200])
    await insert('once', 1, 501)
    const once = (await statistics(world)).find(({ name }) => name === 'once')
    assert.equal(once, { name: 'once', count: 501, uniqueContacts: 1 })
  })

  test('is exact where few contacts had many events', async (service) => {
    const world = await newWorld(service)
    const { project } = world
    // None of them is in the sample that estimates are made from; of the last one half of the contacts are.
    const insert = async (name: string, contacts: number, ending: string, times: number) =>
      service.sql(
        `with person as (
           insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
           select $1, overlay(gen_random_uuid()::text placing $6 from 35)::uuid, $2 || n || '@example.org', true, $5, $5
           from generate_series(1, $3) n returning id
         )
         insert into events (project_id, id, contact_id, name, created_at)
         select $1, gen_random_uuid(), id, $2, $5 from person, generate_series(1, $4)`,
        [project.id, name, contacts, times, service.clock.now(), ending],
      )
    await insert('views', 5, 'ff', 20_011)
    await insert('logins', 700, 'ff', 150)
    assert.equal(await statistics(world), [
      { name: 'logins', count: 105_000, uniqueContacts: 700 },
      { name: 'views', count: 100_055, uniqueContacts: 5 },
    ])
    assert.is((await got(service, '/views/usage', project)).uniqueContacts, 5)
    await insert('visits', 6_000, '00', 17)
    const visits = await got(service, '/visits/usage', project)
    assert.equal([visits.totalCount, visits.uniqueContacts], [102_000, 6_000 + 700 + 5 + 2], 'all there are')
  })
})
