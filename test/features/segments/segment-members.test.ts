import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { hold } from '../../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Service, startService } from '../../support/service.ts'
import { fieldErrors } from '../sending/send-support.ts'
import { contact, elsewhere, members, moves, newList, newSegment, segmentOf } from './segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const add = (service: Service, id: string, body: object): Promise<Answer> =>
  service.as().post(`/segments/${id}/members`, body)
const remove = (service: Service, id: string, body: object): Promise<Answer> =>
  service.as().delete(`/segments/${id}/members`, body)

/** The body of an answer of 200. */
async function ok(answer: Promise<Answer>): Promise<unknown> {
  const { status, body, text } = await answer
  assert.is(status, 200, text)
  return body
}

scenario('POST /segments/:id/members', start, (test) => {
  test('adds contacts that there are, each once', async (service) => {
    const own = await elsewhere(service)
    for (const name of ['ada', 'grace', 'alan']) await contact(own, name)
    const { id } = await newList(own)
    const emails = ['ada@example.org', ' ADA@Example.org ', 'grace@example.org', 'nobody@example.org']
    const answer = { added: 2, created: 0, notFound: ['nobody@example.org'] }
    assert.equal(await ok(add(own, id, { emails })), answer)
    assert.equal(await ok(add(own, id, { emails })), { ...answer, added: 0 })
    assert.equal(await members(own, id), ['ada', 'grace'])
    assert.is((await segmentOf(own, id)).memberCount, 2)
    assert.equal(await moves(own, id), [], 'it is not tracked')
  })

  test('makes contacts when asked to', async (service) => {
    const own = await elsewhere(service)
    await own.as().post('/contacts', { email: 'known@example.org', subscribed: false })
    const { id } = await newList(own)
    const first = { emails: ['known@example.org', 'NEW@example.org'], createMissing: true }
    assert.equal(await ok(add(own, id, first)), { added: 2, created: 1, notFound: [] })
    const second = { emails: ['quiet@example.org'], createMissing: true, subscribed: false }
    assert.equal(await ok(add(own, id, second)), { added: 1, created: 1, notFound: [] })
    const rows = await own.sql('select email, subscribed from contacts where project_id = $1 order by 1', [
      own.project.id,
    ])
    assert.equal(rows, [
      { email: 'known@example.org', subscribed: false },
      { email: 'new@example.org', subscribed: true },
      { email: 'quiet@example.org', subscribed: false },
    ])
    assert.is((await segmentOf(own, id)).memberCount, 3)
  })

  test('does not find contacts of another project', async (service) => {
    const { id } = await newList(service)
    await contact(await elsewhere(service), 'foreign')
    const answer = await ok(add(service, id, { emails: ['foreign@example.org'] }))
    assert.equal(answer, { added: 0, created: 0, notFound: ['foreign@example.org'] })
  })

  test('takes 500 addresses and not one more', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newList(own)
    const emails = Array.from({ length: 501 }, (_, index) => `p${index}@example.org`)
    const all = { emails: emails.slice(0, 500), createMissing: true }
    assert.equal(await ok(add(own, id, all)), { added: 500, created: 500, notFound: [] })
    for (const call of [add, remove]) {
      assert.equal(fieldErrors(await call(own, id, { emails })), [['emails', 'too_big']])
      assert.equal(fieldErrors(await call(own, id, { emails: [] })), [['emails', 'too_small']])
      assert.equal(fieldErrors(await call(own, id, {})), [['emails', 'required']])
      const bad = { emails: ['p0@example.org', 'nobody', 5] }
      assert.equal(fieldErrors(await call(own, id, bad)), [
        ['emails.1', 'invalid_string'],
        ['emails.2', 'invalid_type'],
      ])
    }
    assert.is((await segmentOf(own, id)).memberCount, 500)
    assert.equal(await ok(remove(own, id, { emails: all.emails })), { removed: 500, notFound: [] })
    assert.is((await segmentOf(own, id)).memberCount, 0)
  })

  test('is not for a DYNAMIC one', async (service) => {
    const { id } = await newSegment(service)
    const body = { emails: ['never@example.org'], createMissing: true }
    for (const call of [add, remove]) assertRefused(await call(service, id, body), 400, 'BAD_REQUEST')
    assert.equal(await service.sql(`select from contacts where email = 'never@example.org'`), [])
  })

  test('does the same through GraphQL', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newList(own)
    const input = { emails: ['ada@example.org', 'grace@example.org'], createMissing: true }
    const options = { key: own.project.secret }
    const addAll = `mutation ($id: ID!, $input: AddSegmentMembersInput!) {
      addSegmentMembers(id: $id, input: $input) { added created notFound } }`
    const added = await own.graphql(addAll, { id, input }, options)
    assert.equal(added.body.data.addSegmentMembers, { added: 2, created: 2, notFound: [] })
    const removeAll = `mutation ($id: ID!, $input: RemoveSegmentMembersInput!) {
      removeSegmentMembers(id: $id, input: $input) { removed notFound } }`
    const less = { emails: ['ada@example.org', 'nobody@example.org'] }
    const removed = await own.graphql(removeAll, { id, input: less }, options)
    assert.equal(removed.body.data.removeSegmentMembers, { removed: 1, notFound: ['nobody@example.org'] })
    const dynamic = await newSegment(own)
    const refused = await own.graphql(removeAll, { id: dynamic.id, input: less }, options)
    assertGraphQLRefused(refused, 400, 'BAD_REQUEST')
  })

  test('records entries and exits of a tracked one, once each', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newList(own, { trackMembership: true })
    const body = { emails: ['ada@example.org', 'grace@example.org'], createMissing: true }
    await Promise.all([add(own, id, body), add(own, id, body), add(own, id, body)])
    assert.equal(await moves(own, id), ['ada entry', 'grace entry'])
    const gone = { emails: ['ada@example.org'] }
    await Promise.all([remove(own, id, gone), remove(own, id, gone)])
    assert.equal(await moves(own, id), ['ada entry', 'grace entry', 'ada exit'])
    const [event] = await own.sql(
      `select name, data from events where name like '%exit' and data ->> 'segmentId' = $1`,
      [id],
    )
    assert.equal(event, {
      name: 'segment.by-hand.exit',
      data: { segmentId: id, segmentName: 'By hand' },
    })
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })

  test('adds a contact that another request makes at the same moment', async (service) => {
    const { id, projectId } = await newList(service)
    const insert = `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
      values ($1, $2, 'twin@example.org', true, '{}', now(), now())`
    const held = await hold(service.databaseUrl, insert, [projectId, randomUUID()])
    const answer = ok(add(service, id, { emails: ['twin@example.org'], createMissing: true }))
    await held.waiters(1)
    await held.release('commit')
    assert.equal(await answer, { added: 1, created: 0, notFound: [] })
    assert.equal(await members(service, id), ['twin'])
  })

  test('leaves out a contact that is deleted at the same moment', async (service) => {
    const { id } = await newList(service, { trackMembership: true })
    const gone = await contact(service, 'gone')
    await contact(service, 'stays')
    const held = await hold(service.databaseUrl, 'delete from contacts where id = $1', [gone.id])
    const answer = ok(add(service, id, { emails: ['gone@example.org', 'stays@example.org'] }))
    await held.waiters(1)
    await held.release('commit')
    assert.equal(await answer, { added: 1, created: 0, notFound: [] })
    assert.equal(await moves(service, id), ['stays entry'])
  })
})

scenario('DELETE /segments/:id/members', start, (test) => {
  test('takes contacts off the list, and keeps them otherwise', async (service) => {
    const own = await elsewhere(service)
    for (const name of ['ada', 'grace', 'alan']) await contact(own, name)
    const { id } = await newList(own)
    await add(own, id, { emails: ['ada@example.org', 'grace@example.org'] })
    const emails = ['ADA@example.org', 'ada@example.org', 'alan@example.org', 'nobody@example.org']
    assert.equal(await ok(remove(own, id, { emails })), { removed: 1, notFound: ['nobody@example.org'] })
    assert.equal(await members(own, id), ['grace'])
    assert.is((await segmentOf(own, id)).memberCount, 1)
    const [row] = await own.sql('select count(*)::int as n from contacts where project_id = $1', [
      own.project.id,
    ])
    assert.is(row?.n, 3)
  })

  test('does not touch another list', async (service) => {
    const own = await elsewhere(service)
    const [first, second] = [await newList(own), await newList(own)]
    const body = { emails: ['ada@example.org'], createMissing: true }
    for (const { id } of [first, second]) await add(own, id, body)
    await remove(own, first.id, { emails: body.emails })
    assert.equal(await members(own, first.id), [])
    assert.equal(await members(own, second.id), ['ada'])
  })
})
