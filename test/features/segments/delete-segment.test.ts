import * as assert from 'uvu/assert'
import { computeSegmentsJob } from '../../../src/features/memberships/compute-segments.job.ts'
import { hold } from '../../support/held-lock.ts'
import { noteInterests } from '../../support/interests.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Service, startService } from '../../support/service.ts'
import { whileInterestsHeld } from '../../support/while-held.ts'
import { turnOf } from '../../support/work.ts'
import { fieldErrors } from '../sending/send-support.ts'
import {
  computeDue,
  contact,
  elsewhere,
  manyContacts,
  memberOf,
  newCampaign,
  newList,
  newSegment,
  newTracked,
  newWorkflow,
  treeOf,
} from './segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))
const remove = (service: Service, id: string): Promise<Answer> => service.as().delete(`/segments/${id}`)

const exists = async ({ sql }: Service, id: string): Promise<boolean> =>
  (await sql('select from segments where id = $1', [id])).length === 1

const inGroup = (id: string) => ({
  logic: 'OR',
  groups: [{ filters: [], conditions: treeOf(memberOf(id.toUpperCase())) }],
})

/** What keeps a segment, and the statement that ends it. */
const USES: Record<string, (service: Service, id: string) => Promise<[string, string]>> = {
  'another segment': async (service, segmentId) => {
    const { id } = await newSegment(service, { condition: treeOf(memberOf(segmentId)) })
    return ['delete from segments where id = $1', id]
  },
  'a workflow that starts for it': async (service, segmentId) => {
    const id = await newWorkflow(service, { type: 'SCHEDULE', trigger: { cron: '0 0 * * *', segmentId } })
    return ['delete from workflows where id = $1', id]
  },
  'a step of a workflow': async (service, segmentId) => {
    const id = await newWorkflow(service, { condition: memberOf(segmentId) })
    return ['delete from workflows where id = $1', id]
  },
  'a deep filter of a campaign': async (service, segmentId) => {
    const id = await newCampaign(service, { status: 'DRAFT', condition: inGroup(segmentId) })
    return ['delete from campaigns where id = $1', id]
  },
  ...Object.fromEntries(
    ['DRAFT', 'SCHEDULED', 'SENDING'].map((status) => [
      `a campaign that is ${status}`,
      async (service: Service, segmentId: string): Promise<[string, string]> => {
        const id = await newCampaign(service, { status, segmentId })
        return [`update campaigns set status = 'SENT' where id = $1`, id]
      },
    ]),
  ),
}

scenario('DELETE /segments/:id', start, (test) => {
  test('deletes a segment, its members and nothing else', async (service) => {
    const own = await elsewhere(service)
    const { id: contactId } = await contact(own, 'ada', { plan: 'pro' })
    const [{ id }, other] = [await newTracked(own), await newTracked(own)]
    const answer = await remove(own, id)
    assert.is(answer.status, 204)
    assert.is(answer.text, '')
    assert.is(await exists(own, id), false)
    assert.is(await exists(own, other.id), true)
    await computeDue(own)
    const rows = await own.sql('select contact_id, segment_id from segment_members where project_id = $1', [
      own.project.id,
    ])
    assert.equal(rows, [{ contact_id: contactId, segment_id: other.id }])
    assertRefused(await remove(own, id), 404, 'SEGMENT_NOT_FOUND')
  })

  test('does not wait for members: they go in the background, part by part', async (service) => {
    const own = await elsewhere(service)
    await manyContacts(own, 12_000)
    const { id } = await newTracked(own)
    const left = async () => (await own.sql('select from segment_members where segment_id = $1', [id])).length
    assert.is(await left(), 12_000)
    const held = await hold(own.databaseUrl, 'select from segment_members where segment_id = $1 for update', [
      id,
    ])
    assert.is((await remove(own, id)).status, 204)
    assertRefused(await own.as().get(`/segments/${id}`), 404, 'SEGMENT_NOT_FOUND')
    await held.release()
    const part = () =>
      computeSegmentsJob.slice(own.ctx(own.project.id), turnOf(own.project.id, { hasTime: () => false }))
    assert.is(await part(), 'more')
    assert.is(await left(), 7_000)
    await computeDue(own)
    assert.is(await left(), 0)
    assert.equal(await own.sql('select from segment_removals'), [])
  })

  test('does the same through GraphQL', async (service) => {
    const { id } = await newSegment(service)
    const query = 'mutation ($id: ID!) { deleteSegment(id: $id) }'
    const options = { key: service.project.secret }
    const user = await newSegment(service, { condition: treeOf(memberOf(id)) })
    assertGraphQLRefused(await service.graphql(query, { id }, options), 409, 'CONFLICT')
    await remove(service, user.id)
    assert.equal((await service.graphql(query, { id }, options)).body, { data: { deleteSegment: true } })
    assert.is(await exists(service, id), false)
  })

  for (const [what, use] of Object.entries(USES)) {
    test(`is refused while it is used by ${what}`, async (service) => {
      const [{ id }, unused] = [await newSegment(service), await newSegment(service)]
      const [statement, user] = await use(service, id)
      assertRefused(await remove(service, id), 409, 'CONFLICT')
      assertRefused(await remove(service, id.toUpperCase()), 409, 'CONFLICT')
      assert.is(await exists(service, id), true)
      assert.is((await remove(service, unused.id)).status, 204)
      await service.sql(statement, [user])
      await noteInterests(service, service.project.id)
      assert.is((await remove(service, id)).status, 204)
    })
  }

  test('is refused while another one asks for its entries or exits, but not for its own', async (service) => {
    const own = await elsewhere(service)
    const again = { field: 'event.segment.vip.exit', operator: 'triggered' }
    const { id } = await newTracked(own, { name: 'VIP', condition: treeOf(again) })
    for (const event of ['entry', 'exit']) {
      const condition = treeOf({ ...again, field: `event.segment.vip.${event}` })
      const user = await newSegment(own, { name: 'User', condition })
      await own.as().patch(`/segments/${id}`, { name: 'Other' })
      assertRefused(await remove(own, id), 409, 'CONFLICT')
      assert.is((await remove(own, user.id)).status, 204)
    }
    assert.is((await remove(own, id)).status, 204)
  })

  test('does not mind campaigns that are over, which are kept', async (service) => {
    const { id } = await newSegment(service)
    const over = [
      await newCampaign(service, { status: 'SENT', segmentId: id }),
      await newCampaign(service, { status: 'CANCELLED', segmentId: id }),
      await newCampaign(service, { status: 'SENT', condition: inGroup(id) }),
    ]
    assert.is((await remove(service, id)).status, 204)
    const rows = await service.sql('select segment_id from campaigns where id = any($1)', [over])
    assert.equal(rows, [{ segment_id: null }, { segment_id: null }, { segment_id: null }])
  })

  test('does not mind another project that has its id in a condition', async (service) => {
    const { id } = await newSegment(service)
    await newCampaign(await elsewhere(service), { status: 'DRAFT', condition: inGroup(id) })
    assert.is((await remove(service, id)).status, 204)
  })
})

scenario('Changes of segments at the same time', start, (test) => {
  test('do not leave a condition without the segment that it names', async (service) => {
    const body = (id: string) => ({ name: 'Any', condition: treeOf(memberOf(id)) })
    const outcomes = []
    for (const createFirst of [true, false]) {
      const { id } = await newSegment(service)
      const requests = [() => service.as().post('/segments', body(id)), () => remove(service, id)]
      const answers = await whileInterestsHeld(
        service,
        service.project.id,
        createFirst ? requests : requests.toReversed(),
      )
      outcomes.push(answers.map(({ status }) => status))
    }
    assert.equal(outcomes, [
      [201, 409],
      [204, 422],
    ])
  })

  test('do not make a circle', async (service) => {
    const [a, b, c] = [await newSegment(service), await newSegment(service), await newSegment(service)]
    const naming = (from: { id: string }, to: { id: string }) => () =>
      service.as().patch(`/segments/${from.id}`, { condition: treeOf(memberOf(to.id)) })
    const answers = await whileInterestsHeld(service, service.project.id, [
      naming(a, b),
      naming(b, c),
      naming(c, a),
    ])
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200, 422],
    )
    const [, , refused] = answers
    assert.equal(refused && fieldErrors(refused), [['condition.groups.0.filters.0.field', 'custom']])
  })

  test('find that a segment has been deleted', async (service) => {
    const { id } = await newSegment(service)
    const { id: list } = await newList(service)
    const lock = 'delete from segments where id = any($1)'
    const held = await hold(service.databaseUrl, lock, [[id, list]])
    const answers = [
      service.as().patch(`/segments/${id}`, { name: 'Late' }),
      service.as().post(`/segments/${list}/members`, {
        emails: ['late@example.org'],
        createMissing: true,
      }),
      remove(service, list),
    ]
    await held.waiters(3)
    await held.release('commit')
    for (const answer of await Promise.all(answers)) assertRefused(answer, 404, 'SEGMENT_NOT_FOUND')
    assert.equal(await service.sql(`select from contacts where email = 'late@example.org'`), [])
  })
})
