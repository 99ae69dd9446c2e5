import * as assert from 'uvu/assert'
import { computeSegmentsJob } from '../../../src/features/memberships/compute-segments.job.ts'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Service, startService, until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import {
  computeDue,
  computed,
  contact,
  countsOf,
  elsewhere,
  follow,
  isPro,
  manyContacts,
  members,
  moves,
  newSegment,
  newTracked,
  segmentOf,
  treeOf,
  writersDone,
} from '../segments/segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const FREE = treeOf({ ...isPro, value: 'free' })
const INSERT = `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
  values ($1, gen_random_uuid(), 'ada@example.org', true, '{"plan": "pro"}', now(), now())`

/** A writer that began before a segment listened, and ends later: it has said nothing to anybody. */
const writer = (service: Service) => hold(service.databaseUrl, INSERT, [service.project.id])

const ask = (service: Service, id: string): Promise<Answer> => service.as().post(`/segments/${id}/compute`)

const isAsked =
  ({ sql }: Service, id: string) =>
  async () =>
    (await sql('select from segments where id = $1 and pass_asked > pass + 1', [id])).length > 0

/** So many parts of what is to be computed. */
async function parts(service: Service, count: number): Promise<void> {
  let left = count
  const turn = turnOf(service.project.id, { hasTime: () => left-- > 0 })
  await computeSegmentsJob.slice(service.ctx(service.project.id), turn)
}

/** Does what is due until there is an answer. */
async function answered(service: Service, asked: Promise<Answer>): Promise<Answer> {
  const done = asked.then(() => true)
  while (!(await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 5, false))]))) {
    await parts(service, 3)
  }
  return asked
}

scenario('Who waits for a pass', start, (test) => {
  test('is told of one that came to its end, not of one that was broken off', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, 12_000)
    const { id } = await newSegment(own, { trackMembership: true })
    const asked = ask(own, id)
    await until('it is asked', isAsked(own, id))
    await writersDone(own)
    await parts(own, 1)
    // As many as the machine moves in one commit.
    const moved = (await own.sql('select from segment_members where segment_id = $1', [id])).length
    assert.ok(moved > 0 && moved < 12_000, String(moved))
    await own.as().patch(`/segments/${id}`, { condition: FREE })
    own.clock.advance(SECOND)
    const counts = await countsOf(own, id, await answered(own, asked))
    assert.equal(counts, { added: 0, removed: moved, total: 0 })
  })

  test('is told its numbers, however many ask at the same time', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newSegment(own, { trackMembership: true })
    const caller = async () => {
      for (let time = 0; time < 4; time += 1) {
        const counts = await computed(own, id)
        for (const value of Object.values(counts)) assert.is.not(value, null)
      }
    }
    await Promise.all([caller(), caller(), caller(), caller()])
  })

  test('is told although the condition has changed since he asked', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'free' })
    const { id } = await newTracked(own)
    const asked = ask(own, id)
    await until('it is asked', isAsked(own, id))
    await own.as().patch(`/segments/${id}`, { condition: FREE })
    const counts = await countsOf(own, id, await answered(own, asked))
    assert.equal(counts, { added: 1, removed: 0, total: 1 })
    await follow(own)
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })
})

scenario('A pass and who writes meanwhile', start, (test) => {
  test('waits for a writer who began before the segment listened', async (service) => {
    const own = await elsewhere(service)
    const held = await writer(own)
    const { id } = await newSegment(own, { trackMembership: true })
    const asked = ask(own, id)
    await until('it is asked', isAsked(own, id))
    await parts(own, 3)
    await held.release('commit')
    assert.equal((await answered(own, asked)).body, {
      ...{ added: 1, removed: 0, total: 1, status: 'completed' },
    })
    assert.equal(await moves(own, id), ['ada entry'])
  })

  test('and so does one for a condition that has changed, or when it is tracked again', async (service) => {
    for (const changes of [
      [{ condition: FREE }, {}],
      [{ trackMembership: false }, { trackMembership: true }],
    ]) {
      const own = await elsewhere(service)
      const { id } = await newTracked(own, { condition: FREE })
      await own.as().patch(`/segments/${id}`, changes[0])
      const held = await writer(own)
      await own.as().patch(`/segments/${id}`, { ...changes[1], condition: treeOf(isPro) })
      own.clock.advance(SECOND)
      await parts(own, 3)
      await held.release('commit')
      await computeDue(own)
      await parts(own, 3)
      assert.equal(await members(own, id), ['ada'])
    }
  })

  test('waits a minute at most, and looks again when the writer is done', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'grace', { plan: 'pro' })
    const held = await writer(own)
    const { id } = await newSegment(own, { trackMembership: true })
    own.clock.advance(40 * SECOND)
    await parts(own, 3)
    assert.equal(await members(own, id), [])
    own.clock.advance(21 * SECOND)
    await parts(own, 3)
    assert.equal(await members(own, id), ['grace'])
    await held.release('commit')
    own.clock.advance(MINUTE)
    await computeDue(own)
    assert.equal(await members(own, id), ['ada', 'grace'])
  })
})
