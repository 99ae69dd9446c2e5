import * as assert from 'uvu/assert'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { contact, elsewhere, isPro, memberOf, newSegment, PRO, treeOf } from './segment-support.ts'

const start = () => startService({ ROLES: 'http' })

const QUERY = `query ($filter: JSONObject, $limit: Int, $cursor: String, $sort: String, $dir: String, $search: String,
  $subscribed: Boolean) {
  contacts(filter: $filter, limit: $limit, cursor: $cursor, sort: $sort, dir: $dir, search: $search,
    subscribed: $subscribed) { data { email } cursor hasMore total } }`

const list = (service: Service, variables: object): Promise<Answer> => service.as().graphql(QUERY, variables)

async function listed(service: Service, variables: object): Promise<Body> {
  const { body, text } = await list(service, variables)
  assert.ok(body.data?.contacts, text)
  const { data, ...page } = body.data.contacts
  return { ...page, names: data.map(({ email }: Body) => email.split('@')[0]) }
}

async function people(service: Service): Promise<Service> {
  const own = await elsewhere(service)
  for (const name of ['c', 'a', 'e', 'b', 'd']) await contact(own, name, { plan: 'pro' })
  await contact(own, 'x', { plan: 'free' })
  return own
}

scenario('contacts(filter:)', start, (test) => {
  test('are those that the tree is true for', async (service) => {
    const own = await people(service)
    const { names, ...page } = await listed(own, { filter: PRO })
    assert.equal(names, ['d', 'b', 'e', 'a', 'c'])
    assert.equal(page, { cursor: null, hasMore: false, total: 5 })
    assert.is((await listed(own, { filter: null })).total, 6)
  })

  for (const [order, expected] of [
    [{}, 'dbeac'],
    [{ dir: 'asc' }, 'caebd'],
    [{ sort: 'email', dir: 'asc' }, 'abcde'],
    [{ sort: 'email', dir: 'desc' }, 'edcba'],
  ] as const) {
    test(`are on one page each, in the order ${JSON.stringify(order)}`, async (service) => {
      const own = await people(service)
      const names: string[] = []
      let cursor: string | null = null
      do {
        const page: Body = await listed(own, { filter: PRO, limit: 2, cursor, ...order })
        assert.is(page.hasMore, page.cursor !== null)
        names.push(...page.names)
        cursor = page.cursor
      } while (cursor)
      assert.is(names.join(''), expected)
    })
  }

  test('go with a search and a state', async (service) => {
    const own = await people(service)
    await own.sql(`update contacts set subscribed = false where email = 'a@example.org'`)
    assert.equal((await listed(own, { filter: PRO, search: 'A@' })).names, ['a'])
    assert.equal((await listed(own, { filter: PRO, subscribed: false })).names, ['a'])
    assert.equal((await listed(own, { filter: PRO, search: 'x@' })).names, [])
  })

  test('may name a segment, of this project', async (service) => {
    const own = await people(service)
    const { id } = await newSegment(own)
    assert.is((await listed(own, { filter: treeOf(memberOf(id)) })).total, 5)
    const foreign = await newSegment(service)
    const answer = await list(own, { filter: treeOf(isPro, memberOf(foreign.id)) })
    const { errors } = assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
    assert.equal([errors[0].field, errors[0].code], ['filter.groups.0.filters.1.field', 'custom'])
  })

  test('say where a tree is bad', async (service) => {
    const nested = { logic: 'AND', groups: [{ conditions: treeOf(isPro, { ...isPro, operator: 'is' }) }] }
    for (const [filter, field] of [
      [{}, 'filter.logic'],
      [{ logic: 'AND', groups: [] }, 'filter.groups'],
      [treeOf({ field: 'createdAt', operator: 'within', value: 5 }), 'filter.groups.0.filters.0.unit'],
      [nested, 'filter.groups.0.conditions.groups.0.filters.1.operator'],
    ] as const) {
      const { errors } = assertGraphQLRefused(await list(service, { filter }), 422, 'VALIDATION_ERROR')
      assert.ok(
        errors.some((error: Body) => error.field === field),
        JSON.stringify(errors),
      )
    }
  })

  test('are not there over REST', async (service) => {
    const own = await people(service)
    const filter = encodeURIComponent(JSON.stringify(treeOf({ ...isPro, value: 'free' })))
    const { body } = await own.as().get(`/contacts?filter=${filter}`)
    assert.is(body.total, 6)
  })
})
