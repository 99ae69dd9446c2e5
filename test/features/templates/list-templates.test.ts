import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Project, type Service, startService } from '../../support/service.ts'
import { templateOf } from '../sending/send-support.ts'

type World = { service: Service; project: Project; stop: () => Promise<void> }

/** Made in this order, a second apart but for the last two, which are of the same moment. */
const TEMPLATES: { name: string; description?: string; subject?: string; type: string }[] = [
  { name: 'Bravo', subject: 'Save 100% today', type: 'MARKETING' },
  { name: 'alpha', description: 'für ÄRZTE', type: 'TRANSACTIONAL' },
  { name: 'Delta', subject: 'order_id {{order_id}}', type: 'TRANSACTIONAL' },
  { name: 'Charlie \\ backslash', type: 'HEADLESS' },
  { name: 'Echo', description: 'Save 100 today, orderXid', type: 'MARKETING' },
]

async function start(): Promise<World> {
  const service = await startService({ ROLES: 'http' })
  const { project } = service
  for (const [index, fields] of TEMPLATES.entries()) {
    const id = await templateOf(service, fields)
    const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, Math.min(index, 3)))
    await service.sql('update templates set created_at = $2 where id = $1', [id, createdAt])
  }
  await templateOf(service, { name: 'Foreign' }, await service.newProject())
  return { service, project, stop: service.stop }
}

type Parameters = Record<string, string | number>

const list = ({ service, project }: World, parameters: Parameters = {}): Promise<Answer> => {
  const query = new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]))
  return service.as(project).get(`/templates?${query}`)
}

const QUERY = `query ($page: Int, $pageSize: Int, $type: MessageType, $search: String, $sort: String, $dir: String) {
  templates(page: $page, pageSize: $pageSize, type: $type, search: $search, sort: $sort, dir: $dir) {
    data { id projectId name description subject body from fromName replyTo type createdAt updatedAt }
    total page pageSize totalPages
  }
}`

const listByGraphQL = ({ service, project }: World, variables: Parameters = {}): Promise<Answer> =>
  service.as(project).graphql(QUERY, variables)

async function listed(world: World, parameters: Parameters = {}): Promise<Body> {
  const answer = await list(world, parameters)
  assert.is(answer.status, 200, answer.text)
  assert.equal((await listByGraphQL(world, parameters)).body.data.templates, answer.body, 'GraphQL agrees')
  return answer.body
}

const names = async (world: World, parameters: Parameters = {}): Promise<string[]> =>
  (await listed(world, parameters)).data.map(({ name }: Body) => name.split(' ')[0])

scenario('GET /templates', start, (test) => {
  test('answers with whole templates of the project alone, newest first', async (world) => {
    const { data, ...page } = await listed(world)
    assert.equal(page, { total: 5, page: 1, pageSize: 20, totalPages: 1 })
    const { service, project } = world
    const ofOne = await service.as(project).get(`/templates/${data[4].id}`)
    assert.equal(data[4], ofOne.body)
    assert.equal(
      data.map(({ name }: Body) => name.split(' ')[0]),
      ['Echo', 'Charlie', 'Delta', 'alpha', 'Bravo'],
    )
  })

  test('has each template on one page, also those of the same moment', async (world) => {
    for (const parameters of [{}, { dir: 'asc' }, { sort: 'name' }, { sort: 'updatedAt' }]) {
      const all = await names(world, parameters)
      const pages = []
      for (const page of [1, 2, 3, 4, 5])
        pages.push(...(await names(world, { ...parameters, page, pageSize: 1 })))
      assert.equal(pages, all)
    }
  })

  test('breaks ties by id in the direction of the order', async (world) => {
    const { service } = world
    const project = await service.newProject()
    const ids = []
    for (let count = 0; count < 5; count += 1) ids.push(await templateOf(service, {}, project))
    const ofSameName = async (dir: string): Promise<string[]> =>
      (await listed({ ...world, project }, { sort: 'name', dir })).data.map(({ id }: Body) => id)
    assert.equal(await ofSameName('asc'), ids)
    assert.equal(await ofSameName('desc'), ids.toReversed())
    assert.equal((await names(world, { dir: 'asc' })).slice(-2), ['Charlie', 'Echo'])
    assert.equal((await names(world, { dir: 'desc' })).slice(0, 2), ['Echo', 'Charlie'])
  })

  test('counts pages, and a page behind the last one is empty', async (world) => {
    const { data, ...page } = await listed(world, { page: 2, pageSize: 2 })
    assert.is(data.length, 2)
    assert.equal(page, { total: 5, page: 2, pageSize: 2, totalPages: 3 })
    const behind = await listed(world, { page: 4, pageSize: 2 })
    assert.equal(behind, { data: [], total: 5, page: 4, pageSize: 2, totalPages: 3 })
    const far = await listed(world, { page: 2_147_483_647, pageSize: 100 })
    assert.equal(far.data, [])
  })

  test('has no pages without templates', async ({ service }) => {
    const project = await service.newProject()
    const world = { service, project, stop: service.stop }
    assert.equal(await listed(world), { data: [], total: 0, page: 1, pageSize: 20, totalPages: 0 })
  })

  test('takes a size above 100 as 100', async (world) => {
    assert.is((await listed(world, { pageSize: 101 })).pageSize, 100)
    assert.is((await listed(world, { pageSize: 100 })).pageSize, 100)
  })

  for (const [parameter, value] of [
    ['page', 0],
    ['page', -1],
    ['pageSize', 0],
    ['pageSize', -5],
  ] as const) {
    test(`refuses ${parameter}=${value}`, async (world) => {
      const error = assertRefused(await list(world, { [parameter]: value }), 400, 'BAD_REQUEST')
      assert.is(error.message, `The parameter ${parameter} must be at least 1.`)
      assertGraphQLRefused(await listByGraphQL(world, { [parameter]: value }), 400, 'BAD_REQUEST')
    })
  }

  for (const value of ['', 'x', '1.5', '1e3', '99999999999']) {
    test(`refuses page=${value}`, async (world) => {
      assertRefused(await list(world, { page: value }), 400, 'BAD_REQUEST')
    })
  }

  test('sorts by what is asked for', async ({ service }) => {
    const project = await service.newProject()
    const world = { service, project, stop: service.stop }
    for (const name of ['b', 'a', 'c']) await templateOf(service, { name }, project)
    const [first] = (await listed(world, { dir: 'asc' })).data
    await service.as(project).patch(`/templates/${first.id}`, { subject: 'New' })
    assert.equal(await names(world, { sort: 'name', dir: 'asc' }), ['a', 'b', 'c'])
    assert.equal(await names(world, { sort: 'name' }), ['c', 'b', 'a'])
    assert.equal(await names(world, { sort: 'createdAt', dir: 'asc' }), ['b', 'a', 'c'])
    assert.equal(await names(world, { sort: 'updatedAt' }), ['b', 'c', 'a'])
  })

  test('falls back when sort and dir are not known', async (world) => {
    const usual = await names(world)
    for (const parameters of [{ sort: 'body' }, { dir: 'up' }, { sort: '', dir: '' }, { sort: 'id;drop' }]) {
      assert.equal(await names(world, parameters), usual)
    }
    assert.equal(await names(world, { sort: 'subject', dir: 'asc' }), usual.toReversed())
  })

  test('has one type of template alone', async (world) => {
    assert.equal(await names(world, { type: 'TRANSACTIONAL' }), ['Delta', 'alpha'])
    assert.is((await listed(world, { type: 'HEADLESS' })).total, 1)
  })

  for (const type of ['NEWSLETTER', 'marketing', '', 'toString']) {
    test(`refuses the type "${type}"`, async (world) => {
      const error = assertRefused(await list(world, { type }), 400, 'BAD_REQUEST')
      assert.is(error.message, 'The parameter type must be one of TRANSACTIONAL, MARKETING, HEADLESS.')
      assertGraphQLRefused(await listByGraphQL(world, { type }), 400, 'BAD_REQUEST')
    })
  }

  test('searches name, description and subject in any case', async (world) => {
    assert.equal(await names(world, { search: 'ALPHA' }), ['alpha'])
    assert.equal(await names(world, { search: 'ärzte' }), ['alpha'])
    assert.equal(await names(world, { search: 'save' }), ['Echo', 'Bravo'])
    assert.equal(await names(world, { search: 'save', type: 'HEADLESS' }), [])
    assert.equal(await names(world, { search: 'Foreign' }), [])
    assert.is((await names(world, { search: '' })).length, 5)
    assert.is((await listed(world, { search: 'save', pageSize: 1 })).total, 2)
  })

  test('takes %, _ and \\ in a search for themselves', async (world) => {
    assert.equal(await names(world, { search: '100%' }), ['Bravo'])
    assert.equal(await names(world, { search: 'order_id' }), ['Delta'])
    assert.equal(await names(world, { search: '%' }), ['Bravo'])
    assert.equal(await names(world, { search: '_' }), ['Delta'])
    assert.equal(await names(world, { search: '\\' }), ['Charlie'])
  })

  test('needs a secret key', async ({ service, project }) => {
    assertRefused(await service.call('GET', '/templates'), 401, 'MISSING_AUTH')
    assertRefused(await service.as(project.public).get('/templates'), 401, 'INVALID_API_KEY')
  })
})
