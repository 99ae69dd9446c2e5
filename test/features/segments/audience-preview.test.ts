import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import {
  contact,
  elsewhere,
  isPro,
  memberOf,
  newList,
  newSegment,
  newTracked,
  PRO,
  treeOf,
  triggered,
} from './segment-support.ts'

/** Of the PRO contacts ada is unsubscribed, grace is suppressed, alan is both; a project beside it has the same. */
async function start(): Promise<Service> {
  const service = await startService({ ROLES: 'http' })
  for (const own of [await elsewhere(service), service]) {
    for (const name of ['ada', 'grace', 'alan', 'edsger']) await contact(own, name, { plan: 'pro' })
    await contact(own, 'barbara', { plan: 'free' })
    const projectId = own.project.id
    await own.sql(
      `update contacts set subscribed = false where project_id = $1 and email in ('ada@example.org', 'alan@example.org')`,
      [projectId],
    )
    await own.sql(
      `insert into suppressions (project_id, email, reason, created_at)
       select $1, unnest('{grace@example.org,alan@example.org,stranger@example.org}'::text[]), 'BOUNCE', now()`,
      [projectId],
    )
  }
  return service
}

const PREVIEW = `query ($input: PreviewAudienceInput!) { previewAudience(input: $input) {
  description matching unsubscribed suppressed receiving sample { email } } }`

const preview = (service: Service, input: object): Promise<Answer> => service.as().graphql(PREVIEW, { input })

async function previewed(service: Service, input: object): Promise<Body> {
  const { body, text } = await preview(service, input)
  assert.ok(body.data?.previewAudience, text)
  const { sample, ...rest } = body.data.previewAudience
  return { ...rest, sample: sample.map(({ email }: Body) => email.split('@')[0]) }
}

const OF_PRO = { matching: 4, unsubscribed: 2, suppressed: 2, receiving: 1 }

scenario('previewAudience', start, (test) => {
  test('counts whom a condition has, and who would get mail', async (service) => {
    assert.equal(await previewed(service, { condition: PRO }), {
      ...OF_PRO,
      description: 'plan is "pro"',
      sample: ['edsger', 'alan', 'grace', 'ada'],
    })
  })

  for (const [type, receiving] of [
    ['MARKETING', 1],
    ['HEADLESS', 1],
    ['TRANSACTIONAL', 2],
  ] as const) {
    test(`for ${type}`, async (service) => {
      const { sample, description, ...counts } = await previewed(service, { condition: PRO, type })
      assert.equal(counts, { ...OF_PRO, receiving })
    })
  }

  test('of a segment, whatever its kind', async (service) => {
    const list = await newList(service, { name: 'By hand' })
    const emails = ['ada@example.org', 'barbara@example.org']
    await service.as().post(`/segments/${list.id}/members`, { emails })
    assert.equal(await previewed(service, { segmentId: list.id }), {
      ...{ matching: 2, unsubscribed: 1, suppressed: 0, receiving: 1 },
      description: 'in the segment "By hand"',
      sample: ['barbara', 'ada'],
    })
    for (const trackMembership of [false, true]) {
      const { id } = await newSegment(service, { trackMembership })
      const { sample, description, ...counts } = await previewed(service, { segmentId: id.toUpperCase() })
      assert.equal(counts, OF_PRO)
      assert.is(description, 'in the segment "Pro customers"')
    }
    const condition = treeOf(isPro, memberOf(list.id))
    const { matching, description } = await previewed(service, { condition })
    assert.equal([matching, description], [1, 'plan is "pro" and in the segment "By hand"'])
  })

  test('of all contacts', async (service) => {
    const { sample, ...rest } = await previewed(service, { all: true, condition: null })
    assert.equal(rest, {
      ...{ matching: 5, unsubscribed: 2, suppressed: 2, receiving: 2 },
      description: 'all contacts',
    })
    assert.is(sample[0], 'barbara')
  })

  test('shows ten contacts at most, the newest', async (service) => {
    const own = await elsewhere(service)
    for (let index = 0; index < 12; index += 1) await contact(own, `p${index}`)
    const { matching, sample } = await previewed(own, { all: true })
    assert.is(matching, 12)
    assert.equal(
      sample,
      Array.from({ length: 10 }, (_, index) => `p${11 - index}`),
    )
  })

  for (const input of [
    {},
    { all: false },
    { condition: PRO, all: true },
    { segmentId: randomUUID(), all: true },
    { condition: PRO, segmentId: randomUUID() },
    { condition: PRO, segmentId: randomUUID(), all: true },
  ]) {
    test(`asks for exactly one: ${Object.keys(input).join() || 'nothing'}`, async (service) => {
      const { errors } = assertGraphQLRefused(await preview(service, input), 422, 'VALIDATION_ERROR')
      assert.equal(
        errors.map(({ field, code }: Body) => [field, code]),
        [['condition', 'custom']],
      )
    })
  }

  test('says where a tree is bad, and which segment is not there', async (service) => {
    const condition = treeOf(isPro, { ...isPro, operator: 'is' })
    const { errors } = assertGraphQLRefused(await preview(service, { condition }), 422, 'VALIDATION_ERROR')
    assert.is(errors[0].field, 'condition.groups.0.filters.1.operator')
    const foreign = await newSegment(await elsewhere(service))
    for (const segmentId of [foreign.id, randomUUID()]) {
      assertGraphQLRefused(await preview(service, { segmentId }), 404, 'SEGMENT_NOT_FOUND')
    }
    assertGraphQLRefused(await preview(service, { segmentId: 'pro' }), 404, 'RESOURCE_NOT_FOUND')
  })

  test('needs a secret key', async (service) => {
    const variables = { input: { all: true } }
    const answer = await service.as(service.project.public).graphql(PREVIEW, variables)
    assertGraphQLRefused(answer, 401, 'INVALID_API_KEY')
  })
})

const EXPLAIN = `query ($contactId: ID!, $segmentId: ID!) {
  explainMembership(contactId: $contactId, segmentId: $segmentId) { isMember explanation } }`

const explain = (service: Service, contactId: string, segmentId: string): Promise<Answer> =>
  service.as().graphql(EXPLAIN, { contactId, segmentId })

async function explained(service: Service, contactId: string, segmentId: string): Promise<Body> {
  const { body, text } = await explain(service, contactId, segmentId)
  assert.ok(body.data?.explainMembership, text)
  return body.data.explainMembership
}

scenario('explainMembership', start, (test) => {
  test('shows what came of each node, and the values that decided', async (service) => {
    const own = await elsewhere(service)
    const { id } = await contact(own, 'ada', { plan: 'pro', seats: 3 })
    const enough = { field: 'data.seats', operator: 'greaterThan', value: 5 }
    const bought = triggered('bought')
    const condition = {
      logic: 'OR',
      groups: [{ filters: [isPro], conditions: treeOf(enough) }, { filters: [bought] }],
    }
    const segment = await newSegment(own, { condition })
    const node = { segment: null }
    assert.equal(await explained(own, id, segment.id), {
      isMember: false,
      explanation: {
        logic: 'OR',
        matches: false,
        groups: [
          {
            matches: false,
            filters: [{ ...isPro, matches: true, actual: 'pro', ...node }],
            conditions: {
              logic: 'AND',
              matches: false,
              groups: [
                {
                  matches: false,
                  filters: [{ ...enough, matches: false, actual: 3, ...node }],
                  conditions: null,
                },
              ],
            },
          },
          {
            matches: false,
            filters: [{ ...bought, matches: false, actual: null, ...node }],
            conditions: null,
          },
        ],
      },
    })
    await own.as(own.project.public).post('/v1/track', { email: 'ada@example.org', event: 'bought' })
    const { isMember, explanation } = await explained(own, id, segment.id)
    assert.is(isMember, true)
    const [, group] = explanation.groups
    assert.equal([explanation.matches, group.matches, group.filters[0].matches], [true, true, true])
    assert.match(group.filters[0].actual, /^\d{4}-.*Z$/)
  })

  test('agrees with the members of a tracked one only by its condition', async (service) => {
    const own = await elsewhere(service)
    const { id } = await contact(own, 'ada', { plan: 'pro' })
    const segment = await newTracked(own)
    await contact(own, 'ada', { plan: 'free' })
    assert.is((await explained(own, id, segment.id)).isMember, false)
  })

  test('has nothing to explain about a STATIC one', async (service) => {
    const own = await elsewhere(service)
    const [ada, grace] = [await contact(own, 'ada'), await contact(own, 'grace')]
    const list = await newList(own)
    await own.as().post(`/segments/${list.id}/members`, { emails: [ada.email] })
    assert.equal(await explained(own, ada.id, list.id), { isMember: true, explanation: null })
    assert.equal(await explained(own, grace.id, list.id), { isMember: false, explanation: null })
    const segment = await newSegment(own, { condition: treeOf(memberOf(list.id)) })
    const { isMember, explanation } = await explained(own, ada.id, segment.id)
    assert.equal([isMember, explanation.groups[0].filters[0].actual], [true, true])
  })

  test('does not find what is not there', async (service) => {
    const other = await elsewhere(service)
    const [mine, theirs] = [await newSegment(service), await newSegment(other)]
    const [ada, foreign] = [await contact(service, 'ada'), await contact(other, 'ada')]
    for (const [contactId, segmentId, code] of [
      [ada.id, theirs.id, 'SEGMENT_NOT_FOUND'],
      [ada.id, randomUUID(), 'SEGMENT_NOT_FOUND'],
      [ada.id, 'pro', 'RESOURCE_NOT_FOUND'],
      [foreign.id, mine.id, 'CONTACT_NOT_FOUND'],
      [randomUUID(), mine.id, 'CONTACT_NOT_FOUND'],
      ['ada', mine.id, 'RESOURCE_NOT_FOUND'],
    ] as const) {
      assertGraphQLRefused(await explain(service, contactId, segmentId), 404, code)
    }
  })
})
