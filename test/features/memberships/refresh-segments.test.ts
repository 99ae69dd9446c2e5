import * as assert from 'uvu/assert'
import { HOUR, MINUTE, SECOND } from '../../support/clock.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'
import {
  computeDue,
  contact,
  elsewhere,
  follow,
  isPro,
  memberOf,
  members,
  moves,
  newList,
  newSegment,
  newTracked,
  segmentOf,
  treeOf,
} from '../segments/segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

/** Lets time pass and does what a worker does. */
async function pass(service: Service, milliseconds: number): Promise<void> {
  service.clock.advance(milliseconds)
  await computeDue(service)
  await follow(service)
}

const within = (field: string, value: number, unit: string) => ({ field, operator: 'within', value, unit })

/** Conditions of which ada is a member for ten minutes. */
const WINDOWS: Record<string, (service: Service) => object> = {
  triggeredWithin: () => ({
    field: 'event.bought',
    operator: 'triggeredWithin',
    value: 10,
    unit: 'minutes',
  }),
  'createdAt within': () => within('createdAt', 10, 'minutes'),
  'a date of data within': () => within('data.boughtAt', 10, 'minutes'),
  'not updatedAt olderThan': () => within('updatedAt', 10, 'minutes'),
}

scenario('Windows that pass', start, (test) => {
  for (const [what, condition] of Object.entries(WINDOWS)) {
    test(what, async (service) => {
      const own = await elsewhere(service)
      const { id } = await newTracked(own, { condition: treeOf(condition(own)) })
      const body = {
        email: 'ada@example.org',
        event: 'bought',
        data: { boughtAt: service.clock.now().toISOString() },
      }
      await own.as(own.project.public).post('/v1/track', body)
      await follow(own)
      assert.equal(await moves(own, id), ['ada entry'])
      await pass(own, 9 * MINUTE)
      assert.equal(await members(own, id), ['ada'])
      await pass(own, 61 * SECOND)
      assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
      assert.is((await segmentOf(own, id)).memberCount, 0)
    })
  }

  test('of a segment that another one asks for', async (service) => {
    const own = await elsewhere(service)
    const recent = await newSegment(own, { condition: treeOf(within('createdAt', 10, 'minutes')) })
    const { id } = await newTracked(own, { condition: treeOf(isPro, memberOf(recent.id)) })
    await contact(own, 'ada', { plan: 'pro' })
    await follow(own)
    await pass(own, 11 * MINUTE)
    assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
  })
})

scenario('A tracked segment', start, (test) => {
  test('is left to whoever made it for a moment, then computed', async (service) => {
    // A machine that is slower than a moment looks too late, and tries again.
    const { own, id } = await until('somebody looks within a moment', async () => {
      const own = await elsewhere(service)
      await contact(own, 'ada', { plan: 'pro' })
      const began = performance.now()
      const { id } = await newSegment(own, { trackMembership: true })
      await pass(own, 0)
      const seen = await members(own, id)
      if (performance.now() - began > 250) return null
      assert.equal(seen, [])
      return { own, id }
    })
    await pass(own, SECOND)
    assert.equal(await moves(own, id), ['ada entry'])
  })

  test('follows a new condition, and those who ask for it do', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    await contact(own, 'grace', { plan: 'free' })
    const inner = await newTracked(own)
    const middle = await newSegment(own, { condition: treeOf(memberOf(inner.id)) })
    const outer = await newTracked(own, { condition: treeOf(memberOf(middle.id)) })
    assert.equal(await members(own, outer.id), ['ada'])
    const condition = treeOf({ ...isPro, value: 'free' })
    await own.as().patch(`/segments/${inner.id}`, { condition })
    await pass(own, 31 * SECOND)
    for (const { id } of [inner, outer]) assert.equal(await members(own, id), ['grace'])
    assert.equal((await moves(own, outer.id)).toSorted(), ['ada entry', 'ada exit', 'grace entry'])
  })

  test('has its members again when tracking is switched off and on', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newTracked(own)
    for (const trackMembership of [false, true]) {
      await own.as().patch(`/segments/${id}`, { trackMembership })
    }
    await pass(own, 31 * SECOND)
    assert.equal(await members(own, id), ['ada'])
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })

  test('catches up within the hour with what it was not told', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'free' })
    const { id } = await newTracked(own)
    await own.sql(`update contacts set data = '{"plan": "pro"}' where project_id = $1`, [own.project.id])
    await pass(own, 10 * MINUTE)
    assert.equal(await members(own, id), [])
    await pass(own, HOUR)
    assert.equal(await moves(own, id), ['ada entry'])
  })

  test('that cannot be computed does not keep the others', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const before = await newSegment(own, { trackMembership: true })
    const broken = await newSegment(own, { trackMembership: true })
    const after = await newSegment(own, { trackMembership: true })
    await own.sql(`update segments set condition = '{}' where id = $1`, [broken.id])
    await pass(own, 31 * SECOND)
    for (const { id } of [before, after]) assert.equal(await members(own, id), ['ada'])
  })
})

scenario('The number of members', start, (test) => {
  test('is counted every 5 minutes', async (service) => {
    const own = await elsewhere(service)
    const [plain, list] = [await newSegment(own), await newList(own)]
    await own.as().post(`/segments/${list.id}/refresh`)
    await contact(own, 'ada', { plan: 'pro' })
    await own.sql(
      'insert into segment_members select project_id, $2, id, now() from contacts where project_id = $1',
      [own.project.id, list.id],
    )
    await pass(own, 4 * MINUTE)
    for (const { id } of [plain, list]) assert.is((await segmentOf(own, id)).memberCount, 0)
    await pass(own, 61 * SECOND)
    for (const { id } of [plain, list]) assert.is((await segmentOf(own, id)).memberCount, 1)
    assert.equal(await moves(own, plain.id), [])
  })

  test('takes at most a twentieth of the time', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newSegment(own)
    // As if the last turn had taken a minute.
    const rested = ({ sql, project, clock }: Service, milliseconds: number) => {
      const until = new Date(clock.now().getTime() + milliseconds)
      return sql('update segment_checks set rests_until = $2, due_at = $2 where project_id = $1', [
        project.id,
        until,
      ])
    }
    await pass(own, 0)
    await rested(own, 20 * MINUTE)
    await contact(own, 'ada', { plan: 'pro' })
    await pass(own, 19 * MINUTE)
    assert.is((await segmentOf(own, id)).memberCount, 0)
    await pass(own, 2 * MINUTE)
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })
})
