import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { SECOND } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { shortError } from '../contacts/contact-support.ts'
import { fieldErrors } from '../sending/send-support.ts'
import {
  computed,
  contact,
  elsewhere,
  FIELDS,
  isPro,
  memberOf,
  newList,
  newSegment,
  newTracked,
  PRO,
  segmentOf,
  treeOf,
  triggered,
} from './segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

const create = (service: Service, body: unknown) => service.as().post('/segments', body)

const NAMES = ['create', 'update'] as const
/** The same field of both bodies. */
async function written(service: Service, name: (typeof NAMES)[number], body: object): Promise<Answer> {
  if (name === 'create') return create(service, { name: 'Any', condition: PRO, ...body })
  const { id } = await newSegment(service)
  return service.as().patch(`/segments/${id}`, body)
}

scenario('POST /segments', start, (test) => {
  test('makes a segment', async (service) => {
    const body = { name: 'Pro', description: 'They pay.', condition: PRO, trackMembership: true }
    const answer = await create(service, body)
    assert.is(answer.status, 201)
    const { id, createdAt, updatedAt, ...rest } = answer.body
    assert.match(id, UUID)
    assert.is(createdAt, updatedAt)
    assert.equal(rest, {
      ...{ projectId: service.project.id, ...body },
      ...{ slug: 'pro', type: 'DYNAMIC', memberCount: 0 },
    })
    assert.equal(await segmentOf(service, id), answer.body)
  })

  test('has defaults, and counts whoever is there', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    await contact(own, 'grace', { plan: 'pro' })
    await contact(own, 'alan')
    const { description, type, trackMembership, memberCount } = await newSegment(own)
    assert.equal([description, type, trackMembership, memberCount], [null, 'DYNAMIC', false, 2])
    assert.is((await newSegment(own, { trackMembership: true })).memberCount, 0, 'nobody has entered yet')
  })

  test('ignores the condition of a STATIC one', async (service) => {
    for (const condition of [PRO, { logic: 'nonsense' }, 'nonsense', null]) {
      const { type, condition: stored } = await newList(service, { condition })
      assert.equal([type, stored], ['STATIC', null])
    }
  })

  test('keeps of a condition what it understands', async (service) => {
    const filter = { ...isPro, colour: 'red' }
    const { condition } = await newSegment(service, { condition: { ...treeOf(filter), more: 1 } })
    assert.equal(condition, PRO)
  })

  for (const condition of [undefined, null, 'all', 5, true, [], [PRO]]) {
    test(`asks for an object as condition of a DYNAMIC one: ${JSON.stringify(condition)}`, async (service) => {
      assert.match(shortError(await create(service, { name: 'Any', condition })), 'condition')
      if (condition !== undefined) {
        assert.match(shortError(await written(service, 'update', { condition })), 'condition')
      }
      const input = { name: 'Any', condition }
      const query = 'mutation ($input: CreateSegmentInput!) { createSegment(input: $input) { id } }'
      const refused = await service.as().graphql(query, { input })
      assert.is(assertGraphQLRefused(refused, 422, 'VALIDATION_ERROR').errors[0].field, 'condition')
    })
  }

  for (const [condition, path] of [
    [{}, 'condition.logic'],
    [{ logic: 'and', groups: [{ filters: [isPro] }] }, 'condition.logic'],
    [{ logic: 'AND', groups: [] }, 'condition.groups'],
    [treeOf({ field: 'nobody', operator: 'equals', value: 1 }), 'condition.groups.0.filters.0.field'],
    [treeOf(isPro, { ...isPro, operator: 'is' }), 'condition.groups.0.filters.1.operator'],
    [treeOf({ field: 'data.plan', operator: 'equals' }), 'condition.groups.0.filters.0.value'],
    [treeOf({ field: 'createdAt', operator: 'within', value: 1 }), 'condition.groups.0.filters.0.unit'],
    [treeOf(isPro, memberOf(randomUUID())), 'condition.groups.0.filters.1.field'],
  ] as const) {
    test(`refuses a bad tree: ${path} of ${JSON.stringify(condition)}`, async (service) => {
      for (const name of NAMES) {
        const errors = fieldErrors(await written(service, name, { condition }))
        assert.ok(
          errors.some(([field]: string[]) => field === path),
          `${name}: ${JSON.stringify(errors)}`,
        )
      }
    })
  }

  for (const [field, value, code] of [
    ['name', '', 'too_small'],
    ['name', 'x'.repeat(101), 'too_big'],
    ['name', 'a\nb', 'invalid_string'],
    ['name', 5, 'invalid_type'],
    ['name', null, 'invalid_type'],
    ['description', 'x'.repeat(501), 'too_big'],
    ['description', 5, 'invalid_type'],
    ['trackMembership', 'yes', 'invalid_type'],
  ] as const) {
    test(`refuses ${field}: ${String(value).slice(0, 9)}`, async (service) => {
      for (const name of NAMES) {
        assert.equal(fieldErrors(await written(service, name, { [field]: value })), [[field, code]])
      }
    })
  }

  test('refuses an unknown type, and a missing name', async (service) => {
    const answer = await create(service, { name: 'Any', type: 'LIST', condition: PRO })
    assert.equal(fieldErrors(answer), [['type', 'invalid_enum_value']])
    assert.equal(fieldErrors(await create(service, { condition: PRO })), [['name', 'required']])
  })

  test('takes the longest name and description', async (service) => {
    const fields = { name: 'x'.repeat(100), description: 'y'.repeat(500) }
    const { name, description } = await newSegment(service, fields)
    assert.equal({ name, description }, fields)
  })

  test('does not find a segment of another project', async (service) => {
    const foreign = await newSegment(await elsewhere(service))
    const answer = await create(service, { name: 'Any', condition: treeOf(memberOf(foreign.id)) })
    assert.equal(fieldErrors(answer), [['condition.groups.0.filters.0.field', 'custom']])
  })
})

scenario('GET /segments', start, (test) => {
  test('are all of the project, the newest first', async (service) => {
    const own = await elsewhere(service)
    assert.equal((await own.as().get('/segments')).body, [])
    const made: Body[] = []
    for (const name of ['b', 'a', 'c']) made.unshift(await newSegment(own, { name }))
    await newSegment(service)
    const { body } = await own.as().get('/segments')
    assert.equal(body, made)
    const options = { key: own.project.secret }
    const all = await own.graphql(`{ segments { ${FIELDS} } }`, {}, options)
    assert.equal(all.body.data.segments, made)
    const query = `query ($id: ID!) { segment(id: $id) { ${FIELDS} } }`
    const one = await own.graphql(query, { id: made[1].id }, options)
    assert.equal(one.body.data.segment, made[1])
  })
})

scenario('PATCH /segments/:id', start, (test) => {
  const update = (service: Service, id: string, body: unknown) => service.as().patch(`/segments/${id}`, body)

  test('changes what is given', async (service) => {
    const before = await newSegment(service, { description: 'Note' })
    service.clock.advance(SECOND)
    const fields = {
      name: 'Other',
      description: 'Other note',
      condition: treeOf({ ...isPro, value: 'free' }),
    }
    const { body } = await update(service, before.id, fields)
    assert.equal(body, { ...before, ...fields, updatedAt: body.updatedAt })
    assert.ok(body.updatedAt > before.updatedAt)
    assert.equal(await segmentOf(service, before.id), body)
  })

  test('null empties the description, and nothing else', async (service) => {
    const before = await newSegment(service, { description: 'Note' })
    const { body } = await update(service, before.id, { description: null, trackMembership: null })
    assert.equal(body, { ...before, description: null, updatedAt: body.updatedAt })
  })

  test('counts again for another condition', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    const { id, memberCount } = await newSegment(own, { condition: treeOf({ ...isPro, value: 'free' }) })
    assert.is(memberCount, 0)
    assert.is((await update(own, id, { condition: PRO })).body.memberCount, 1)
    assert.is((await segmentOf(own, id)).memberCount, 1)
  })

  test('has a slug of its own, which a rename leaves', async (service) => {
    const own = await elsewhere(service)
    for (const [name, slug] of [
      ['Pro customers', 'pro-customers'],
      ['  VIP  Gäste -- 2026! ', 'vip-gäste-2026'],
      ['snake_case & more', 'snake_case-more'],
      ['!!!', 'segment'],
      ['Café (Zürich)', 'café-zürich'],
      ['VIP', 'vip'],
      ['vip!', 'vip-2'],
      ['vip-2', 'vip-2-2'],
      ['v.i.p.', 'vip-3'],
    ]) {
      const made = await newSegment(own, { name })
      assert.is(made.slug, slug)
      assert.is((await update(own, made.id, { name: 'Other' })).body.slug, slug)
    }
    assert.is((await newSegment(await elsewhere(service), { name: 'VIP' })).slug, 'vip')
  })

  test('many of one name at the same time have a slug each', async (service) => {
    const own = await elsewhere(service)
    const made = await Promise.all(Array.from({ length: 5 }, () => newSegment(own, { name: 'VIP' })))
    assert.equal(made.map(({ slug }) => slug).toSorted(), ['vip', 'vip-2', 'vip-3', 'vip-4', 'vip-5'])
  })

  test('records entries under its slug, with the name that it has by then', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own, { name: 'Old name' })
    await update(own, id, { name: 'New name' })
    await contact(own, 'ada', { plan: 'pro' })
    await computed(own, id)
    const events = await own.sql('select name, data from events where project_id = $1', [own.project.id])
    assert.equal(events, [
      { name: 'segment.old-name.entry', data: { segmentId: id, segmentName: 'New name' } },
    ])
  })

  test('ignores the condition of a STATIC one', async (service) => {
    const before = await newList(service)
    for (const condition of [PRO, 'nonsense', null]) {
      const { body } = await update(service, before.id, { condition, name: 'List' })
      assert.equal(body, { ...before, name: 'List', updatedAt: body.updatedAt })
    }
  })

  test('refuses a condition that leads back to the segment', async (service) => {
    const first = await newSegment(service)
    const second = await newSegment(service, { condition: treeOf(memberOf(first.id)) })
    const third = await newSegment(service, { condition: treeOf(isPro, memberOf(second.id)) })
    for (const { id } of [first, second, third]) {
      const condition = treeOf(isPro, memberOf(id))
      assert.equal(fieldErrors(await update(service, first.id, { condition })), [
        ['condition.groups.0.filters.1.field', 'custom'],
      ])
    }
    assert.equal(await segmentOf(service, first.id), first)
    const condition = treeOf(memberOf(first.id), triggered('bought'))
    assert.is((await update(service, third.id, { condition })).status, 200)
  })
})

const OPERATIONS: [method: string, path: string, body?: object][] = [
  ['GET', ''],
  ['PATCH', '', { name: 'Stolen' }],
  ['DELETE', ''],
  ['GET', '/contacts'],
  ['POST', '/members', { emails: ['ada@example.org'] }],
  ['DELETE', '/members', { emails: ['ada@example.org'] }],
  ['POST', '/compute'],
  ['POST', '/refresh'],
]

scenario('A segment that is not there', start, (test) => {
  for (const [method, path, body] of OPERATIONS) {
    test(`${method} /segments/:id${path}`, async (service) => {
      const other = await elsewhere(service)
      const foreign = await newTracked(other)
      for (const id of [foreign.id, randomUUID()]) {
        assertRefused(
          await service.as().call(method, `/segments/${id}${path}`, body),
          404,
          'SEGMENT_NOT_FOUND',
        )
      }
      assertRefused(await service.as().call(method, `/segments/pro${path}`, body), 404, 'RESOURCE_NOT_FOUND')
      assert.equal(await segmentOf(other, foreign.id), foreign)
    })
  }
})

scenario('Who may use segments', start, (test) => {
  for (const [method, path, body] of [...OPERATIONS, ['POST', '', {}] as const]) {
    test(`${method} /segments/:id${path}`, async (service) => {
      const { id } = await newSegment(service)
      const at = method === 'POST' && path === '' ? '/segments' : `/segments/${id}${path}`
      const options = body ? { body } : {}
      assertRefused(await service.call(method, at, options), 401, 'MISSING_AUTH')
      const { public: key } = service.project
      assertRefused(await service.call(method, at, { ...options, key }), 401, 'INVALID_API_KEY')
      const disabled = await elsewhere(service)
      await service.sql('update projects set disabled = true where id = $1', [disabled.project.id])
      const answer = await service.call(method, at, { ...options, key: disabled.project.secret })
      if (method === 'GET') assertRefused(answer, 404, 'SEGMENT_NOT_FOUND')
      else assertRefused(answer, 403, 'PROJECT_DISABLED')
    })
  }
})
