import * as assert from 'uvu/assert'
import { MINUTE } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import {
  computeDue,
  contact,
  elsewhere,
  members,
  newList,
  newSegment,
  newTracked,
  segmentOf,
} from './segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const list = (service: Service, id: string, query = ''): Promise<Answer> =>
  service.as().get(`/segments/${id}/contacts${query}`)

const QUERY = `query ($id: ID!, $page: Int, $pageSize: Int) {
  segmentContacts(id: $id, page: $page, pageSize: $pageSize) {
    data { id email subscribed data createdAt updatedAt } total page pageSize totalPages } }`

async function listed(service: Service, id: string, page?: number, pageSize?: number): Promise<Body> {
  const query = new URLSearchParams({
    ...(page && { page: String(page) }),
    ...(pageSize && { pageSize: String(pageSize) }),
  })
  const { status, body, text } = await list(service, id, `?${query}`)
  assert.is(status, 200, text)
  const options = { key: service.project.secret }
  const { data } = (await service.graphql(QUERY, { id, page, pageSize }, options)).body
  assert.equal(data.segmentContacts, { ...body, data: body.data.map(({ projectId, ...rest }: Body) => rest) })
  return body
}

const namesOf = ({ data }: Body): string[] => data.map(({ email }: Body) => email.split('@')[0])

async function people(service: Service): Promise<Service> {
  const own = await elsewhere(service)
  for (const name of ['a', 'b', 'c', 'd', 'e']) await contact(own, name, { plan: 'pro' })
  await contact(own, 'x', { plan: 'free' })
  return own
}

scenario('GET /segments/:id/contacts', start, (test) => {
  test('are whoever the condition has at that moment, the newest first', async (service) => {
    const own = await people(service)
    const { id } = await newSegment(own)
    const whole = await listed(own, id)
    assert.equal(namesOf(whole), ['e', 'd', 'c', 'b', 'a'])
    const { data, ...page } = whole
    assert.equal(page, { total: 5, page: 1, pageSize: 20, totalPages: 1 })
    const { body } = await own.as().get(`/contacts/${data[0].id}`)
    assert.equal(data[0], body)
    await contact(own, 'x', { plan: 'pro' })
    await contact(own, 'b', { plan: 'free' })
    assert.equal(namesOf(await listed(own, id)), ['x', 'e', 'd', 'c', 'a'])
    assert.is((await segmentOf(own, id)).memberCount, 5, 'the number was counted before')
  })

  test('are the condition also of a tracked one that has not followed yet', async (service) => {
    const own = await people(service)
    const { id } = await newTracked(own)
    await contact(own, 'x', { plan: 'pro' })
    assert.equal(namesOf(await listed(own, id)), ['x', 'e', 'd', 'c', 'b', 'a'])
    assert.equal(await members(own, id), ['a', 'b', 'c', 'd', 'e'])
  })

  test('are those on the list of a STATIC one', async (service) => {
    const own = await people(service)
    const { id } = await newList(own)
    assert.equal(await listed(own, id), { data: [], total: 0, page: 1, pageSize: 20, totalPages: 0 })
    const emails = ['x@example.org', 'b@example.org', 'd@example.org']
    await own.as().post(`/segments/${id}/members`, { emails })
    assert.equal(namesOf(await listed(own, id)), ['x', 'd', 'b'])
  })

  test('have each contact on one page', async (service) => {
    const own = await people(service)
    const { id } = await newSegment(own)
    const pages = []
    for (const page of [1, 2, 3]) pages.push(namesOf(await listed(own, id, page, 2)))
    assert.equal(pages, [['e', 'd'], ['c', 'b'], ['a']])
    const { data, ...behind } = await listed(own, id, 4, 2)
    assert.equal([data, behind], [[], { total: 5, page: 4, pageSize: 2, totalPages: 3 }])
  })

  test('are at most 100 of a page', async (service) => {
    const { id } = await newSegment(service)
    assert.is((await listed(service, id, 1, 101)).pageSize, 100)
    assert.is((await listed(service, id, 1, 100)).pageSize, 100)
  })

  for (const query of ['page=0', 'page=-1', 'page=x', 'pageSize=0', 'pageSize=', 'pageSize=1.5']) {
    test(`refuses ${query}`, async (service) => {
      const { id } = await newSegment(service)
      assertRefused(await list(service, id, `?${query}`), 400, 'BAD_REQUEST')
    })
  }

  test('refuses the same through GraphQL', async (service) => {
    const { id } = await newSegment(service)
    const options = { key: service.project.secret }
    const answer = await service.graphql(QUERY, { id, page: 0 }, options)
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
  })
})

scenario('A member that is deleted', start, (test) => {
  test('leaves without a trace, and is not counted any more soon after', async (service) => {
    const own = await people(service)
    const [tracked, byHand] = [await newTracked(own), await newList(own, { trackMembership: true })]
    await own.as().post(`/segments/${byHand.id}/members`, { emails: ['a@example.org', 'b@example.org'] })
    const counts = async () =>
      Promise.all([tracked, byHand].map(async ({ id }) => (await segmentOf(own, id)).memberCount))
    assert.equal(await counts(), [5, 2])
    const [ada] = (await own.as().get('/contacts?search=a@')).body.data
    assert.is((await own.as().delete(`/contacts/${ada.id}`)).status, 204)
    assert.equal(await members(own, tracked.id), ['b', 'c', 'd', 'e'])
    assert.equal(await members(own, byHand.id), ['b'])
    const rows = await own.sql('select from events where contact_id = $1', [ada.id])
    assert.is(rows.length, 0)
    service.clock.advance(6 * MINUTE)
    await computeDue(service)
    assert.equal(await counts(), [4, 1])
  })
})
