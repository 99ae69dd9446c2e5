import * as assert from 'uvu/assert'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Project, type Service, startService } from '../../support/service.ts'
import { CONTACT, newContact } from './contact-support.ts'

type World = { service: Service; project: Project; stop: () => Promise<void> }
type Parameters = Record<string, string | number | boolean>

/** Made in this order, a second apart. */
const NAMES = ['bravo', 'alpha', 'a_c', 'axc', 'a%c', 'delta']

async function start(): Promise<World> {
  const service = await startService({ ROLES: 'http' })
  for (const name of NAMES) {
    await newContact(service, { email: `${name}@example.org`, subscribed: name !== 'delta', data: { name } })
    service.clock.advance(SECOND)
  }
  await newContact(service, { email: 'foreign@example.org' }, await service.newProject())
  return { service, project: service.project, stop: service.stop }
}

const list = ({ service, project }: World, parameters: Parameters = {}): Promise<Answer> => {
  const query = new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]))
  return service.as(project).get(`/contacts?${query}`)
}

const QUERY = `query ($limit: Int, $cursor: String, $search: String, $subscribed: Boolean, $sort: String, $dir: String) {
  contacts(limit: $limit, cursor: $cursor, search: $search, subscribed: $subscribed, sort: $sort, dir: $dir) {
    data { ${CONTACT} } cursor hasMore total
  }
}`

const listByGraphQL = ({ service, project }: World, variables: Parameters = {}): Promise<Answer> =>
  service.as(project).graphql(QUERY, variables)

async function listed(world: World, parameters: Parameters = {}): Promise<Body> {
  const answer = await list(world, parameters)
  assert.is(answer.status, 200, answer.text)
  assert.equal((await listByGraphQL(world, parameters)).body.data.contacts, answer.body, 'GraphQL agrees')
  return answer.body
}

const names = async (world: World, parameters: Parameters = {}): Promise<string[]> =>
  (await listed(world, parameters)).data.map(({ email }: Body) => email.split('@')[0])

const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const ID = '01890000-0000-7000-8000-000000000001'

scenario('GET /contacts', start, (test) => {
  test('answers with whole contacts of the project alone, newest first', async (world) => {
    const { data, ...page } = await listed(world)
    assert.equal(page, { cursor: null, hasMore: false, total: 6 })
    const one = await world.service.as().get(`/contacts/${data[5].id}`)
    assert.equal(data[5], one.body)
    assert.equal(await names(world), NAMES.toReversed())
  })

  test('has no cursor at the end, and 0 as the total of later pages', async (world) => {
    const first = await listed(world, { limit: 4 })
    assert.equal([first.hasMore, first.total, first.data.length], [true, 6, 4])
    assert.type(first.cursor, 'string')
    const second = await listed(world, { limit: 4, cursor: first.cursor })
    assert.equal([second.hasMore, second.cursor, second.total, second.data.length], [false, null, 0, 2])
    const exact = await listed(world, { limit: 6 })
    assert.equal([exact.hasMore, exact.cursor], [false, null])
  })

  test('is empty without contacts', async ({ service }) => {
    const world = { service, project: await service.newProject(), stop: service.stop }
    assert.equal(await listed(world), { data: [], cursor: null, hasMore: false, total: 0 })
  })

  test('takes 20 as the limit, and more than 100 as 100', async ({ service }) => {
    const project = await service.newProject()
    const world = { service, project, stop: service.stop }
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
       select $1, gen_random_uuid(), n || '@example.org', true, now(), now() from generate_series(1, 120) n`,
      [project.id],
    )
    assert.is((await listed(world)).data.length, 20)
    for (const limit of [100, 101, 2_147_483_647]) {
      const { data, total, hasMore } = await listed(world, { limit })
      assert.equal([data.length, total, hasMore], [100, 120, true])
    }
    assert.is((await listed(world, { limit: 1 })).data.length, 1)
  })

  for (const limit of [0, -1, 'abc', '', '1.5', '1e1', '99999999999']) {
    test(`refuses limit=${limit}`, async (world) => {
      assertRefused(await list(world, { limit }), 400, 'BAD_REQUEST')
      if (typeof limit !== 'number') return
      assertGraphQLRefused(await listByGraphQL(world, { limit }), 400, 'BAD_REQUEST')
    })
  }

  const CURSORS: [what: string, cursor: string][] = [
    ['no cursor at all', 'x'],
    ['other text', 'not base64 at all!'],
    ['a bare id', ID],
    ['text in base64', Buffer.from('hello').toString('base64url')],
    ['a JSON value that is no object', cursorOf('x')],
    ['a list', cursorOf(['createdAt desc', ID])],
    ['an empty object', cursorOf({})],
    ['no key', cursorOf({ order: 'createdAt desc' })],
    ['a key of a wrong type', cursorOf({ order: 'createdAt desc', key: 5 })],
    ['a key that is no id', cursorOf({ order: 'createdAt desc', key: 'ada@example.org' })],
    ['another direction', cursorOf({ order: 'createdAt asc', key: ID })],
    ['another order', cursorOf({ order: 'email desc', key: 'ada@example.org' })],
    ['an order that there is not', cursorOf({ order: 'name desc', key: ID })],
    ['no order', cursorOf({ key: ID })],
    ['a list of another kind', cursorOf({ page: 2 })],
    ['a time as the key', cursorOf({ order: 'createdAt desc', key: '2026-01-01T00:00:00.000Z' })],
  ]
  for (const [what, cursor] of CURSORS) {
    test(`refuses a cursor with ${what}`, async (world) => {
      assertRefused(await list(world, { cursor }), 400, 'BAD_REQUEST')
      assertGraphQLRefused(await listByGraphQL(world, { cursor }), 400, 'BAD_REQUEST')
    })
  }

  test('refuses a cursor with a key that Postgres cannot store', async (world) => {
    for (const key of ['a\0', 'x'.repeat(100_000)]) {
      const cursor = cursorOf({ order: 'email desc', key })
      const answer = await list(world, { cursor: cursor.slice(0, 10_000), sort: 'email' })
      assertRefused(answer, 400, 'BAD_REQUEST')
    }
  })

  test('takes the cursor of a page for the order of that page alone', async (world) => {
    const orders = [{}, { dir: 'asc' }, { sort: 'email' }, { sort: 'email', dir: 'asc' }]
    for (const made of orders) {
      const { cursor } = await listed(world, { ...made, limit: 2 })
      for (const used of orders) {
        const answer = await list(world, { ...used, limit: 2, cursor })
        assert.is(answer.status, used === made ? 200 : 400, answer.text)
      }
    }
  })

  test('sorts by what is asked for, and falls back', async (world) => {
    const byEmail = await names(world, { sort: 'email', dir: 'asc' })
    const rows = await world.service.sql('select email from contacts where project_id = $1 order by email', [
      world.project.id,
    ])
    assert.equal(
      byEmail,
      rows.map(({ email }) => email.split('@')[0]),
    )
    assert.equal(await names(world, { sort: 'email' }), byEmail.toReversed())
    assert.equal(await names(world, { dir: 'asc' }), NAMES)
    const usual = await names(world)
    for (const parameters of [{ sort: 'id' }, { sort: 'EMAIL' }, { dir: 'ASC' }, { sort: '', dir: '' }]) {
      assert.equal(await names(world, parameters), usual)
    }
    assert.equal(await names(world, { sort: 'data', dir: 'asc' }), NAMES)
  })

  test('searches a part of the address in any case', async (world) => {
    assert.equal(await names(world, { search: 'ALPHA' }), ['alpha'])
    assert.equal(await names(world, { search: 'lta@EX' }), ['delta'])
    assert.equal(await names(world, { search: 'foreign' }), [])
    assert.equal(await names(world, { search: 'nobody' }), [])
    assert.is((await names(world, { search: '' })).length, 6)
    const { total, data } = await listed(world, { search: 'ALPH', limit: 1 })
    assert.equal([total, data.length], [1, 1])
  })

  test('takes %, _ and \\ in a search for themselves', async (world) => {
    assert.equal(await names(world, { search: 'a_c' }), ['a_c'])
    assert.equal(await names(world, { search: 'a%c' }), ['a%c'])
    assert.equal(await names(world, { search: '%' }), ['a%c'])
    assert.equal(await names(world, { search: '_' }), ['a_c'])
    assert.equal(await names(world, { search: '\\' }), [])
    assert.equal(await names(world, { search: '\\_' }), [])
    assert.equal(await names(world, { search: 'a\\%' }), [])
    assert.equal(await names(world, { search: "' or true --" }), [])
  })

  test('shows one state alone', async (world) => {
    assert.equal(await names(world, { subscribed: false }), ['delta'])
    assert.equal(await names(world, { subscribed: true }), NAMES.slice(0, 5).toReversed())
    assert.is((await listed(world, { subscribed: true, limit: 1 })).total, 5)
    assert.equal(await names(world, { subscribed: false, search: 'alpha' }), [])
  })

  for (const subscribed of ['yes', '1', 'TRUE', '']) {
    test(`refuses subscribed=${subscribed}`, async (world) => {
      assertRefused(await list(world, { subscribed }), 400, 'BAD_REQUEST')
    })
  }

  test('refuses a search that cannot be a part of an address', async (world) => {
    assertRefused(await list(world, { search: 'x'.repeat(321) }), 400, 'BAD_REQUEST')
    assertRefused(await list(world, { search: 'a\0' }), 422, 'VALIDATION_ERROR')
    assert.equal(await names(world, { search: 'x'.repeat(320) }), [])
  })
})

scenario(
  'The total of contacts',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('is exact up to 10,000, and above that at most a minute old', async (service) => {
      const { sql, project, clock } = service
      const world = { service, project, stop: service.stop }
      const insert = (from: number, to: number) =>
        sql(
          `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
         select $1, gen_random_uuid(), n || '@example.org', n % 2 = 0, now(), now()
         from generate_series($2::int, $3::int) n`,
          [project.id, from, to],
        )
      const total = async (parameters: Parameters = {}) => (await listed(world, parameters)).total
      await insert(1, 9_999)
      assert.is(await total(), 9_999)
      await insert(10_000, 10_000)
      assert.is(await total(), 10_000)
      await insert(10_001, 10_050)
      assert.is(await total(), 10_050, 'exact when it is asked for the first time')
      assert.is(await total({ subscribed: true }), 5_025, 'other filters are counted on their own')
      await insert(10_051, 10_060)
      clock.advance(59 * SECOND)
      assert.ok([10_050, 10_060].includes(await total()))
      clock.advance(2 * SECOND)
      assert.is(await total(), 10_060, 'no older than a minute')
      await insert(10_061, 10_070)
      clock.advance(30 * MINUTE)
      assert.is(await total(), 10_070, 'no older than a minute, also when nobody has asked for long')
      await sql('delete from contacts where project_id = $1 and subscribed', [project.id])
      assert.is(await total(), 5_035, 'exact again')
    })

    test('is the last one, or an estimate, where counting takes too long', async (service) => {
      const { sql } = service
      const project = await service.newProject()
      const hasty = await startService({
        ROLES: 'http',
        DATABASE_URL: service.databaseUrl,
        DATA_DIR: service.app.config.dataDir,
        DATABASE_STATEMENT_TIMEOUT_SECONDS: '5',
      })
      await sql(
        `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
         select $1, gen_random_uuid(), n || '@example.org', n % 2 = 0, now(), now() from generate_series(1, 10060) n`,
        [project.id],
      )
      const page = async (query = '') => {
        const answer = await hasty.as(project).get(`/contacts?limit=1${query}`)
        assert.equal([answer.status, answer.body.data?.length], [200, 1], answer.text)
        return answer.body.total
      }
      assert.is(await page(), 10_060)
      hasty.clock.advance(2 * MINUTE)
      await sql('alter table contacts rename to quick_contacts')
      await sql(
        `create view contacts as select * from quick_contacts
         where get_byte(uuid_send(id), 15) < 64 or pg_sleep(0.001) is not null`,
      )
      try {
        assert.is(await page(), 10_060)
        const some = await page('&subscribed=true')
        assert.ok(some > 4_500 && some < 5_500, `about 5,000: ${some}`)
        await sql('delete from contact_totals where project_id = $1', [project.id])
        assert.is(await page(), 10_001, 'many')
      } finally {
        await sql('drop view contacts')
        await sql('alter table quick_contacts rename to contacts')
        await hasty.stop()
      }
    })

    test('is the same for all processes', async (service) => {
      const project = await service.newProject()
      const { dataDir } = service.app.config
      // Both read the secret that is kept there.
      const other = await startService({
        ROLES: 'http',
        DATABASE_URL: service.databaseUrl,
        DATA_DIR: dataDir,
      })
      try {
        const insert = (from: number, to: number) =>
          service.sql(
            `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
             select $1, gen_random_uuid(), n || '@example.org', true, now(), now()
             from generate_series($2::int, $3::int) n`,
            [project.id, from, to],
          )
        const totalOf = async ({ as }: Service) =>
          (await as(project).get('/contacts?limit=1&subscribed=true')).body.total
        await insert(1, 10_050)
        assert.is(await totalOf(service), 10_050)
        await insert(10_051, 10_060)
        assert.equal([await totalOf(service), await totalOf(other)], [10_050, 10_050])
        other.clock.advance(60 * MINUTE)
        assert.equal([await totalOf(other), await totalOf(service)], [10_060, 10_060])
      } finally {
        await other.stop()
      }
    })
  },
)
