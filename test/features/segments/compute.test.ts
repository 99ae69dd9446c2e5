import * as assert from 'uvu/assert'

import { hold } from '../../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import {
  callSegment,
  computed,
  contact,
  elsewhere,
  follow,
  isPro,
  manyContacts,
  members,
  moves,
  newList,
  newSegment,
  newTracked,
  segmentOf,
  treeOf,
} from './segment-support.ts'

const start = () => startService({ ROLES: 'http' })

/** More than two batches. */
const MANY = 25_000

/** How often each contact has entered and left, at most, and how many events there are. */
async function countMoves({ sql }: Service, id: string) {
  const [row] = await sql(
    `select coalesce(max(times), 0)::int as most, coalesce(sum(times), 0)::int as total from (
       select count(*) as times from events where data ->> 'segmentId' = $1 group by contact_id, name) counted`,
    [id],
  )
  return row
}

scenario('POST /segments/:id/compute', start, (test) => {
  test('brings the members in line and records who came and went', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    await contact(own, 'grace', { plan: 'pro' })
    await contact(own, 'alan', { plan: 'free' })
    const { id } = await newSegment(own, { name: 'Pro customers', trackMembership: true })
    assert.equal(await computed(own, id), { added: 2, removed: 0, total: 2 })
    assert.equal(await moves(own, id), ['ada entry', 'grace entry'])
    const [event] = await own.sql('select name, data, email_id from events where project_id = $1', [
      own.project.id,
    ])
    assert.equal(event, {
      name: 'segment.pro-customers.entry',
      data: { segmentId: id, segmentName: 'Pro customers' },
      email_id: null,
    })
    await contact(own, 'alan', { plan: 'pro' })
    await contact(own, 'ada', { plan: 'free' })
    assert.equal(await computed(own, id), { added: 1, removed: 1, total: 2 })
    assert.equal(await computed(own, id), { added: 0, removed: 0, total: 2 })
    assert.equal((await moves(own, id)).toSorted(), ['ada entry', 'ada exit', 'alan entry', 'grace entry'])
    assert.equal(await members(own, id), ['alan', 'grace'])
    assert.is((await segmentOf(own, id)).memberCount, 2)
  })

  test('does the same through GraphQL', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const query = 'mutation ($id: ID!) { computeSegment(id: $id) { added removed total } }'
    const options = { key: own.project.secret }
    const { id } = await newSegment(own, { trackMembership: true })
    const answer = await own.graphql(query, { id }, options)
    assert.equal(answer.body.data.computeSegment, { added: 1, removed: 0, total: 1 })
    const other = await newSegment(own)
    assertGraphQLRefused(await own.graphql(query, { id: other.id }, options), 400, 'BAD_REQUEST')
  })

  test('is for DYNAMIC ones that are tracked', async (service) => {
    for (const { id } of [
      await newSegment(service),
      await newList(service),
      await newList(service, { trackMembership: true }),
    ]) {
      assertRefused(await callSegment(service, 'POST', `/${id}/compute`), 400, 'BAD_REQUEST')
    }
  })

  test('looks at contacts of its own project alone', async (service) => {
    const [own, other] = [await elsewhere(service), await elsewhere(service)]
    await contact(own, 'ada', { plan: 'pro' })
    await contact(other, 'ada', { plan: 'pro' })
    const [mine, theirs] = [await newTracked(own), await newTracked(other)]
    assert.equal(await moves(own, mine.id), ['ada entry'])
    assert.equal(await moves(own, theirs.id), ['ada entry'])
  })

  test('several at the same time record each entry once', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    const results = await Promise.all([1, 2, 3].map(() => computed(own, id)))
    const added = results.reduce((sum, result) => sum + result.added, 0)
    assert.is(added, MANY)
    assert.equal(await countMoves(own, id), { most: 1, total: MANY })
    assert.is((await segmentOf(own, id)).memberCount, MANY)
    await own.sql(`update contacts set data = '{}' where project_id = $1`, [own.project.id])
    const exits = await Promise.all([1, 2].map(() => computed(own, id)))
    assert.is(
      exits.reduce((sum, result) => sum + result.removed, 0),
      MANY,
    )
    assert.equal(await countMoves(own, id), { most: 1, total: 2 * MANY })
    assert.is((await segmentOf(own, id)).memberCount, 0)
  })

  test('the next one finishes what was stopped in the middle', async (service) => {
    const own = await elsewhere(service)
    const last = (await manyContacts(own, MANY)).toSorted().at(-1)
    const { id } = await newSegment(own, { trackMembership: true })
    // The last batch of three meets a contact that cannot become a member.
    await own.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
       create trigger refuse before insert on segment_members for each row
       when (new.contact_id = '${last}') execute function refuse()`,
    )
    assertRefused(await callSegment(own, 'POST', `/${id}/compute`), 500, 'INTERNAL_SERVER_ERROR')
    assert.equal(await countMoves(own, id), { most: 1, total: 20_000 })
    await own.sql('drop function refuse cascade')
    assert.equal(await computed(own, id), { added: MANY - 20_000, removed: 0, total: MANY })
    assert.equal(await countMoves(own, id), { most: 1, total: MANY })
  })

  test('uses the condition that there is, when it changes on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    // The first batch is stopped before its last row, and goes on when the change waits behind it.
    const lock = 'lock table contact_changes in access exclusive mode'
    const held = await hold(own.databaseUrl, lock)
    const computing = computed(own, id)
    await held.waiters(1)
    const changing = callSegment(own, 'PATCH', `/${id}`, { condition: treeOf({ ...isPro, value: 'free' }) })
    await held.waiters(2)
    await held.release()
    assert.is((await changing).status, 200)
    const { total } = await computing
    assert.ok(total < MANY, 'not all batches had the old condition')
    const [row] = await own.sql('select computed_at from segments where id = $1', [id])
    assert.is(row?.computed_at, null, 'it is still to be computed')
    assert.is((await computed(own, id)).total, 0)
    const { most } = (await countMoves(own, id)) ?? {}
    assert.is(most, 1)
  })

  test('ends without members when tracking ends on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    const held = await hold(own.databaseUrl, 'lock table contact_changes in access exclusive mode')
    const computing = computed(own, id)
    await held.waiters(1)
    const changing = callSegment(own, 'PATCH', `/${id}`, { trackMembership: false })
    await held.waiters(2)
    await held.release()
    assert.is((await changing).body.memberCount, MANY)
    assert.is((await computing).total, 0)
    assert.equal(await members(own, id), [])
    assert.is((await segmentOf(own, id)).memberCount, MANY)
  })

  test('says that a segment is gone that is deleted on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    const held = await hold(own.databaseUrl, 'delete from segments where id = $1', [id])
    const computing = callSegment(own, 'POST', `/${id}/compute`)
    await held.waiters(1)
    await held.release('commit')
    assertRefused(await computing, 404, 'SEGMENT_NOT_FOUND')
  })

  test('is not disturbed by contacts that are deleted meanwhile', async (service) => {
    const own = await elsewhere(service)
    const ids = await manyContacts(own, 50)
    const { id } = await newSegment(own, { trackMembership: true })
    const gone = ids.slice(0, 10)
    const held = await hold(own.databaseUrl, 'delete from contacts where id = any($1)', [gone])
    const computing = computed(own, id)
    await held.waiters(1)
    await held.release('commit')
    assert.equal(await computing, { added: 40, removed: 0, total: 40 })
    await own.sql(`update contacts set data = '{}' where project_id = $1`, [own.project.id])
    const again = await hold(own.databaseUrl, 'delete from contacts where id = any($1)', [ids.slice(10, 20)])
    const leaving = computed(own, id)
    await again.waiters(1)
    await again.release('commit')
    assert.equal(await leaving, { added: 0, removed: 30, total: 0 })
  })
})

scenario('Tracking', start, (test) => {
  const track = (service: Service, id: string, trackMembership: boolean) =>
    callSegment(service, 'PATCH', `/${id}`, { trackMembership })

  test('forgets the members when it ends, and begins anew', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newTracked(own)
    const computedAt = async () =>
      (await own.sql('select computed_at from segments where id = $1', [id]))[0]?.computed_at
    assert.ok(await computedAt())
    assert.is((await track(own, id, false)).body.memberCount, 1)
    assert.equal(await members(own, id), [])
    assert.equal(await moves(own, id), ['ada entry'])
    await track(own, id, true)
    assert.is(await computedAt(), null, 'the members are to be found again')
    assert.equal(await computed(own, id), { added: 1, removed: 0, total: 1 })
  })

  test('keeps the members for a change that says nothing new', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newTracked(own)
    await track(own, id, true)
    await callSegment(own, 'PATCH', `/${id}`, { name: 'Other' })
    assert.equal(await members(own, id), ['ada'])
    const list = await newList(own, { trackMembership: true })
    await callSegment(own, 'POST', `/${list.id}/members`, { emails: ['ada@example.org'] })
    await track(own, list.id, false)
    assert.equal(await members(own, list.id), ['ada'], 'a list is kept by hand')
  })
})

scenario('POST /segments/:id/refresh', start, (test) => {
  const refresh = async (service: Service, id: string) =>
    (await callSegment(service, 'POST', `/${id}/refresh`)).body

  test('counts, and does nothing else', async (service) => {
    const own = await elsewhere(service)
    const [plain, list] = [await newSegment(own), await newList(own)]
    const tracked = await newSegment(own, { trackMembership: true })
    await contact(own, 'ada', { plan: 'pro' })
    await own.sql(
      'insert into segment_members select project_id, $2, id, now() from contacts where project_id = $1',
      [own.project.id, list.id],
    )
    for (const { id } of [plain, list, tracked]) {
      assert.is((await segmentOf(own, id)).memberCount, 0)
      assert.equal(await refresh(own, id), { memberCount: 1 })
      assert.is((await segmentOf(own, id)).memberCount, 1)
      assert.equal(await moves(own, id), [])
    }
    assert.equal(await members(own, tracked.id), [])
    const query = 'mutation ($id: ID!) { refreshSegment(id: $id) { memberCount } }'
    const answer = await own.graphql(query, { id: plain.id }, { key: own.project.secret })
    assert.equal(answer.body.data.refreshSegment, { memberCount: 1 })
  })

  test('does not count twice who enters afterwards', async (service) => {
    const own = await elsewhere(service)
    const [early, late] = [await newTracked(own), await newSegment(own, { trackMembership: true })]
    await contact(own, 'ada', { plan: 'pro' })
    for (const { id } of [early, late]) assert.equal(await refresh(own, id), { memberCount: 1 })
    await follow(own)
    for (const { id } of [early, late]) assert.is((await segmentOf(own, id)).memberCount, 1)
    await computed(own, late.id)
    assert.is((await segmentOf(own, late.id)).memberCount, 1)
  })

  test('waits for members that are being added', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newList(own)
    const held = await hold(own.databaseUrl, 'select from segments where id = $1 for update', [id])
    const adding = callSegment(own, 'POST', `/${id}/members`, {
      emails: ['ada@example.org'],
      createMissing: true,
    })
    await held.waiters(1)
    const refreshing = refresh(own, id)
    await held.waiters(2)
    await held.release()
    assert.is((await adding).body.added, 1)
    assert.equal(await refreshing, { memberCount: 1 })
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })
})
