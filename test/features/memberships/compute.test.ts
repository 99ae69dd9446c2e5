import * as assert from 'uvu/assert'

import { computeSegmentsJob } from '../../../src/features/memberships/compute-segments.job.ts'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import {
  computeDue,
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
  whileComputing,
  writersDone,
} from '../segments/segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

/** More than two parts. */
const MANY = 12_000

/** How often each contact has entered and left, at most, and how many events there are. */
async function countMoves({ sql }: Service, id: string) {
  const [row] = await sql(
    `select coalesce(max(times), 0)::int as most, coalesce(sum(times), 0)::int as total from (
       select count(*) as times from events where data ->> 'segmentId' = $1 group by contact_id, name) counted`,
    [id],
  )
  return row
}

/** Some parts of what is to be computed. */
async function slices(service: Service, parts: number): Promise<void> {
  await writersDone(service)
  let left = parts
  const turn = turnOf(service.project.id, { hasTime: () => left-- > 0 })
  await computeSegmentsJob.slice(service.ctx(service.project.id), turn)
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
    const [event] = await own.sql(
      'select name, data, email_id, created_at from events where project_id = $1',
      [own.project.id],
    )
    assert.equal(
      { ...event, created_at: null },
      {
        created_at: null,
        name: 'segment.pro-customers.entry',
        data: { segmentId: id, segmentName: 'Pro customers', initial: true },
        email_id: null,
      },
    )
    await contact(own, 'alan', { plan: 'pro' })
    await contact(own, 'ada', { plan: 'free' })
    assert.equal(await computed(own, id), { added: 1, removed: 1, total: 2 })
    assert.equal(await computed(own, id), { added: 0, removed: 0, total: 2 })
    assert.equal((await moves(own, id)).toSorted(), ['ada entry', 'ada exit', 'alan entry', 'grace entry'])
    assert.equal(await members(own, id), ['alan', 'grace'])
    const later = await own.sql(
      `select from events where project_id = $1 and created_at > $2 and data ? 'initial'`,
      [own.project.id, event?.created_at],
    )
    assert.equal(later, [], 'only those who were there at the first fill')
    assert.is((await segmentOf(own, id)).memberCount, 2)
  })

  test('does the same through GraphQL', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const query = 'mutation ($id: ID!) { computeSegment(id: $id) { added removed total status } }'
    const options = { key: own.project.secret }
    const { id } = await newSegment(own, { trackMembership: true })
    const answer = await whileComputing(own, own.graphql(query, { id }, options))
    const expected = { added: 1, removed: 0, total: 1, status: 'completed' }
    assert.equal(answer.body.data.computeSegment, expected)
    const other = await newSegment(own)
    assertGraphQLRefused(await own.graphql(query, { id: other.id }, options), 400, 'BAD_REQUEST')
  })

  test('is for DYNAMIC ones that are tracked', async (service) => {
    for (const { id } of [
      await newSegment(service),
      await newList(service),
      await newList(service, { trackMembership: true }),
    ]) {
      assertRefused(await service.as().post(`/segments/${id}/compute`), 400, 'BAD_REQUEST')
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
    for (const { total } of await Promise.all([1, 2, 3].map(() => computed(own, id)))) assert.is(total, MANY)
    assert.equal(await countMoves(own, id), { most: 1, total: MANY })
    assert.is((await segmentOf(own, id)).memberCount, MANY)
    await own.sql(`update contacts set data = '{}' where project_id = $1`, [own.project.id])
    for (const { total } of await Promise.all([1, 2].map(() => computed(own, id)))) assert.is(total, 0)
    assert.equal(await countMoves(own, id), { most: 1, total: 2 * MANY })
    assert.is((await segmentOf(own, id)).memberCount, 0)
  })

  test('answers after 5 seconds that it goes on, and another worker goes on with it', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    const { status, body } = await own.as().post(`/segments/${id}/compute`)
    assert.is(status, 202)
    assert.equal(body, { added: null, removed: null, total: null, status: 'running' })
    await slices(own, 2)
    const { memberCount } = await segmentOf(own, id)
    assert.ok(memberCount > 0 && memberCount < MANY, `${memberCount} members on the way`)
    await computeDue(own)
    assert.equal(await countMoves(own, id), { most: 1, total: MANY })
    assert.is((await segmentOf(own, id)).memberCount, MANY)
  })

  test('the next pass finishes what was stopped in the middle', async (service) => {
    const own = await elsewhere(service)
    const last = (await manyContacts(own, MANY)).toSorted().at(-1)
    const { id } = await newSegment(own, { trackMembership: true })
    // The last part meets a contact that cannot become a member.
    await own.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
       create trigger refuse before insert on segment_members for each row
       when (new.contact_id = '${last}') execute function refuse()`,
    )
    own.clock.advance(SECOND)
    await computeDue(own)
    assert.equal(await countMoves(own, id), { most: 1, total: 10_000 })
    await own.sql('drop function refuse cascade')
    own.clock.advance(2 * MINUTE)
    await computeDue(own)
    assert.equal(await countMoves(own, id), { most: 1, total: MANY })
  })

  test('uses the condition that there is, when it changes on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    own.clock.advance(SECOND)
    await slices(own, 2)
    const changed = await own.as().patch(`/segments/${id}`, {
      condition: treeOf({ ...isPro, value: 'free' }),
    })
    assert.is(changed.body.memberCount, 10_000)
    own.clock.advance(SECOND)
    await computeDue(own)
    assert.is((await segmentOf(own, id)).memberCount, 0)
    assert.equal(await countMoves(own, id), { most: 1, total: 20_000 })
  })

  test('ends without members when tracking ends on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    own.clock.advance(SECOND)
    await slices(own, 2)
    const changed = await own.as().patch(`/segments/${id}`, { trackMembership: false })
    assert.is(changed.body.memberCount, MANY)
    own.clock.advance(SECOND)
    await slices(own, 1)
    assert.is((await segmentOf(own, id)).memberCount, MANY)
    await computeDue(own)
    assert.equal(await members(own, id), [])
    assert.is((await segmentOf(own, id)).memberCount, MANY)
    assert.equal(await countMoves(own, id), { most: 1, total: 20_000 })
  })

  test('says that a segment is gone that is deleted on the way', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, MANY)
    const { id } = await newSegment(own, { trackMembership: true })
    const held = await hold(own.databaseUrl, 'delete from segments where id = $1', [id])
    const computing = own.as().post(`/segments/${id}/compute`)
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
    service.as().patch(`/segments/${id}`, { trackMembership })

  test('records exits when it ends, and entries of those who are there when it begins again', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newTracked(own)
    assert.is((await track(own, id, false)).body.memberCount, 1)
    own.clock.advance(SECOND)
    await computeDue(own)
    assert.equal(await members(own, id), [])
    assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
    assert.is((await segmentOf(own, id)).memberCount, 1)
    assert.is((await track(own, id, true)).body.memberCount, 0)
    own.clock.advance(SECOND)
    await computeDue(own)
    assert.equal(await moves(own, id), ['ada entry', 'ada exit', 'ada entry'])
    assert.is((await segmentOf(own, id)).memberCount, 1)
    const rows = await own.sql(
      `select data -> 'initial' as initial from events where project_id = $1 order by id`,
      [own.project.id],
    )
    assert.equal(
      rows.map(({ initial }) => initial),
      [true, null, true],
    )
  })

  test('that ends and begins again at once records nothing twice', async (service) => {
    const own = await elsewhere(service)
    for (const name of ['ada', 'grace']) await contact(own, name, { plan: 'pro' })
    const { id } = await newTracked(own)
    await track(own, id, false)
    await contact(own, 'grace', { plan: 'free' })
    assert.is((await track(own, id, true)).body.memberCount, 2)
    own.clock.advance(SECOND)
    await computeDue(own)
    await follow(own)
    assert.equal((await moves(own, id)).toSorted(), ['ada entry', 'grace entry', 'grace exit'])
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })

  test('keeps the members for a change that says nothing new', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newTracked(own)
    await track(own, id, true)
    await own.as().patch(`/segments/${id}`, { name: 'Other' })
    assert.equal(await members(own, id), ['ada'])
    const list = await newList(own, { trackMembership: true })
    await own.as().post(`/segments/${list.id}/members`, { emails: ['ada@example.org'] })
    await track(own, list.id, false)
    assert.equal(await members(own, list.id), ['ada'], 'a list is kept by hand')
  })
})

scenario('POST /segments/:id/refresh', start, (test) => {
  const refresh = async (service: Service, id: string) =>
    (await service.as().post(`/segments/${id}/refresh`)).body

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
      assert.equal(await refresh(own, id), { memberCount: 1, status: 'completed' })
      assert.is((await segmentOf(own, id)).memberCount, id === tracked.id ? 0 : 1)
      assert.equal(await moves(own, id), [])
    }
    assert.equal(await members(own, tracked.id), [])
    const query = 'mutation ($id: ID!) { refreshSegment(id: $id) { memberCount status } }'
    const answer = await own.as().graphql(query, { id: plain.id })
    assert.equal(answer.body.data.refreshSegment, { memberCount: 1, status: 'completed' })
  })

  test('does not count twice who enters afterwards', async (service) => {
    const own = await elsewhere(service)
    const [early, late] = [await newTracked(own), await newSegment(own, { trackMembership: true })]
    await contact(own, 'ada', { plan: 'pro' })
    for (const { id } of [early, late]) assert.is((await refresh(own, id)).memberCount, 1)
    await follow(own)
    assert.is((await segmentOf(own, early.id)).memberCount, 1)
    await computed(own, late.id)
    assert.is((await segmentOf(own, late.id)).memberCount, 1)
  })

  test('waits for members that are being added', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newList(own)
    const held = await hold(own.databaseUrl, 'select from segments where id = $1 for update', [id])
    const adding = own.as().post(`/segments/${id}/members`, {
      emails: ['ada@example.org'],
      createMissing: true,
    })
    await held.waiters(1)
    const refreshing = refresh(own, id)
    await held.waiters(2)
    await held.release()
    assert.is((await adding).body.added, 1)
    assert.is((await refreshing).memberCount, 1)
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })
})
