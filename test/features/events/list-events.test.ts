import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { newId } from '../../../src/lib/ids.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Project, type Service, startService } from '../../support/service.ts'
import { graphqlValue } from '../contacts/contact-support.ts'
import { EVENT, got, newContacts, record, recount } from './event-support.ts'

type World = { service: Service; project: Project; ada: string; bob: string; stop: () => Promise<void> }
type Parameters = Record<string, string | number>

const AT = new Date('2026-03-04T05:06:07.890Z')
const LATER = new Date('2026-03-04T05:06:07.891Z')

/** Ada's and Bob's events; all but the last one in the same millisecond. */
async function start(): Promise<World> {
  const service = await startService({ ROLES: 'http' })
  const { project } = service
  const [ada, bob = ''] = await newContacts(service, 2, project)
  const names = ['opened', 'bought', 'opened', 'bought', 'opened', 'left', 'opened']
  const events = names.map((name, index) => ({ name, contactId: index % 2 ? bob : ada, at: AT }))
  await record(service, [...events, { name: 'opened', contactId: bob, at: LATER }], project)
  const foreign = await service.newProject()
  const [carl] = await newContacts(service, 1, foreign)
  await record(service, [{ name: 'opened', contactId: carl, at: LATER }], foreign)
  return { service, project, ada, bob, stop: service.stop }
}

const pathOf = (parameters: Parameters): string =>
  `?${new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]))}`

const QUERY = `query ($limit: Int, $cursor: String, $eventName: String, $contactId: ID) {
  events(limit: $limit, cursor: $cursor, eventName: $eventName, contactId: $contactId) {
    data { ${EVENT} } cursor hasMore total
  }
}`

async function listed({ service, project }: World, parameters: Parameters = {}): Promise<Body> {
  const body = await got(service, pathOf(parameters), project)
  assert.equal(await graphqlValue(service, QUERY, parameters, project), body, 'GraphQL agrees')
  return body
}

const refused = ({ service, project }: World, parameters: Parameters): Promise<[Answer, Answer]> =>
  Promise.all([
    service.as(project).get(`/events${pathOf(parameters)}`),
    service.as(project).graphql(QUERY, parameters),
  ])

async function assertBadRequest(world: World, parameters: Parameters): Promise<void> {
  const [rest, graphql] = await refused(world, parameters)
  assertRefused(rest, 400, 'BAD_REQUEST')
  assertGraphQLRefused(graphql, 400, 'BAD_REQUEST')
}

/** Every event of the list, page by page; `between` runs before each page but the first. */
async function walked(
  world: World,
  parameters: Parameters,
  between?: () => Promise<unknown>,
): Promise<Body[]> {
  const all: Body[] = []
  let page = await listed(world, parameters)
  for (;;) {
    all.push(...page.data)
    assert.ok(all.length < 1_000, 'it ends')
    assert.is(page.hasMore, page.cursor !== null)
    if (!page.hasMore) return all
    await between?.()
    page = await listed(world, { ...parameters, cursor: page.cursor })
    assert.is(page.total, 0, 'is counted once')
  }
}

const idsOf = async ({ service, project }: World, where = 'true'): Promise<string[]> =>
  (
    await service.sql(
      `select id from events where project_id = $1 and ${where} order by created_at desc, id desc`,
      [project.id],
    )
  ).map(({ id }) => id)

const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

scenario('GET /events', start, (test) => {
  test('shows whole events of the project alone, the newest first', async (world) => {
    const { data, ...page } = await listed(world)
    assert.equal(page, { cursor: null, hasMore: false, total: 8 })
    assert.equal(
      data.map(({ id }: Body) => id),
      await idsOf(world),
    )
    const { id, ...first } = data[0]
    assert.type(id, 'string')
    assert.equal(first, {
      ...{ name: 'opened', contactId: world.bob, emailId: null, data: {} },
      createdAt: LATER.toISOString(),
    })
  })

  for (const [what, filter, where, total] of [
    ['all', () => ({}), 'true', 8],
    ['of a name', () => ({ eventName: 'opened' }), `name = 'opened'`, 5],
    ['of a contact', ({ bob }: World) => ({ contactId: bob }), '$bob', 4],
    ['of both', ({ bob }: World) => ({ contactId: bob, eventName: 'bought' }), `$bob and name = 'bought'`, 2],
  ] as const) {
    test(`shows those ${what} once, in pages of any size`, async (world) => {
      const expected = await idsOf(world, where.replace('$bob', `contact_id = '${world.bob}'`))
      assert.is(expected.length, total)
      for (const limit of [1, 2, 3, total, 100]) {
        const all = await walked(world, { ...filter(world), limit })
        assert.equal(
          all.map(({ id }) => id),
          expected,
        )
      }
      assert.is((await listed(world, { ...filter(world), limit: 1 })).total, total)
      await recount(world.service, world.project)
      assert.is((await listed(world, { ...filter(world), limit: 1 })).total, total, 'counted or not')
    })
  }

  test('repeats nothing and leaves nothing out when events come in between', async ({ service }) => {
    const project = await service.newProject()
    const [ada] = await newContacts(service, 1, project)
    const world = { service, project, ada, bob: ada, stop: service.stop }
    const same = Array.from({ length: 9 }, () => ({ name: 'e', contactId: ada, at: AT }))
    await record(service, same, project)
    let at = AT
    for (const parameters of [{}, { eventName: 'e' }, { contactId: ada }]) {
      const before = await idsOf(world)
      const seen = await walked(world, { ...parameters, limit: 2 }, () => {
        at = new Date(at.getTime() + 1)
        return record(service, [{ name: 'e', contactId: ada, at }], project)
      })
      assert.equal(
        seen.map(({ id }) => id),
        before,
      )
    }
  })

  test('takes 20 as the limit, and more than 100 as 100', async ({ service }) => {
    const project = await service.newProject()
    const [ada] = await newContacts(service, 1, project)
    const world = { service, project, ada, bob: ada, stop: service.stop }
    await record(
      service,
      Array.from({ length: 120 }, () => ({ name: 'e', contactId: ada, at: AT })),
      project,
    )
    assert.is((await listed(world)).data.length, 20)
    for (const limit of [100, 101, 2_147_483_647]) {
      const { data, total, hasMore } = await listed(world, { limit })
      assert.equal([data.length, total, hasMore], [100, 120, true])
    }
  })

  test('is empty where there is nothing', async (world) => {
    const empty = { data: [], cursor: null, hasMore: false, total: 0 }
    for (const filter of [{ eventName: 'nothing' }, { contactId: randomUUID() }]) {
      assert.equal(await listed(world, filter), empty)
    }
    const project = await world.service.newProject()
    assert.equal(await listed({ ...world, project }), empty)
    assert.equal(await listed({ ...world, project }, { contactId: world.ada }), empty, 'of another project')
  })

  test('takes an empty filter for none', async (world) => {
    assert.is((await listed(world, { eventName: '', contactId: '', cursor: '' })).total, 8)
  })

  for (const limit of [0, -1]) {
    test(`refuses limit=${limit}`, (world) => assertBadRequest(world, { limit }))
  }

  test('refuses a limit that is no number', async (world) => {
    for (const limit of ['abc', '', '1.5', '99999999999']) {
      assertRefused(await world.service.as().get(`/events?limit=${limit}`), 400, 'BAD_REQUEST')
    }
  })

  const ID = newId(AT)
  for (const cursor of [
    'x',
    ID,
    cursorOf('x'),
    cursorOf({ order: 'events', key: 5 }),
    cursorOf({ order: 'events', key: 'ada' }),
    cursorOf({ order: 'createdAt desc', key: ID }),
    cursorOf({ key: ID }),
  ]) {
    test(`refuses the cursor ${cursor}`, (world) => assertBadRequest(world, { cursor }))
  }

  test('refuses filters that nothing can have', async (world) => {
    await assertBadRequest(world, { contactId: 'ada' })
    await assertBadRequest(world, { eventName: 'e'.repeat(256) })
    assert.is((await listed(world, { eventName: 'e'.repeat(255) })).total, 0)
    const answer = await world.service.as().get('/events?eventName=%00')
    assertRefused(answer, 422, 'VALIDATION_ERROR')
  })

  test('needs the secret key', async ({ service }) => {
    const answer = await service.as(service.project.public).get('/events')
    assertRefused(answer, 401, 'INVALID_API_KEY')
  })
})
