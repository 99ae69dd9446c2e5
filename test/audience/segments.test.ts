import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { compileTree } from '../../src/audience/compile.sql.ts'
import { loadAudience, loadSubject } from '../../src/audience/load.ts'
import { explainTree, matchTree } from '../../src/audience/match.rules.ts'
import { resolveTree } from '../../src/audience/resolve.ts'
import type { SegmentSource } from '../../src/audience/tree.rules.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'
import { NOW, STORED } from './arbitrary.ts'
import { computed, errorsOf, idsOf, parsed, problemsOf, treeOf, whoMatches, worldOf } from './ask.ts'

const memberOf = (id: string) => ({ field: `segment.${id}`, operator: 'memberOfSegment' })
const notMemberOf = (id: string) => ({ field: `segment.${id}`, operator: 'notMemberOfSegment' })
const plan = { field: 'data.plan', operator: 'equals', value: 'pro' }

const ids = Array.from({ length: 12 }, () => randomUUID())
const [A = '', B = '', C = ''] = ids
type Sources = [id: string, source: SegmentSource][]
const refusalsOf = (json: unknown, sources: Sources, self: string | null = null) =>
  problemsOf(() => resolveTree(parsed(json), new Map(sources), 'condition', self))

scenario('Segments that a tree names', nothingShared, (test) => {
  test('have to be there', () => {
    const stored: Sources = [[A, { members: 'stored' }]]
    assert.equal(refusalsOf(treeOf(memberOf(A)), stored), [])
    assert.equal(refusalsOf(treeOf(memberOf(A), notMemberOf(B)), stored), [
      ['condition.groups.0.filters.1.field', 'custom'],
    ])
    const nested = { logic: 'OR', groups: [{ conditions: treeOf(plan, memberOf(B)) }] }
    assert.equal(refusalsOf(nested, stored), [
      ['condition.groups.0.conditions.groups.0.filters.1.field', 'custom'],
    ])
  })

  test('have to be there when another segment names them', () => {
    const sources: Sources = [[A, computed(treeOf(memberOf(B)))]]
    assert.equal(refusalsOf(treeOf(memberOf(A)), sources), [['condition.groups.0.filters.0.field', 'custom']])
  })

  test('must not lead back to the segment itself', () => {
    assert.equal(refusalsOf(treeOf(plan, memberOf(A)), [[A, { members: 'stored' }]], A), [
      ['condition.groups.0.filters.1.field', 'custom'],
    ])
    const sources: Sources = [
      [A, computed(treeOf(plan))],
      [B, computed(treeOf(plan, notMemberOf(A)))],
      [C, computed(treeOf(memberOf(B)))],
    ]
    assert.equal(refusalsOf(treeOf(plan, memberOf(C)), sources, A), [
      ['condition.groups.0.filters.1.field', 'custom'],
    ])
    assert.equal(refusalsOf(treeOf(plan, memberOf(C)), sources), [])
  })

  test('must not lead in circles among themselves', () => {
    const sources: Sources = [
      [A, computed(treeOf(memberOf(B)))],
      [B, computed(treeOf(memberOf(A)))],
    ]
    const asked = treeOf(memberOf(A), memberOf(B))
    assert.equal(refusalsOf(asked, sources), [
      ['condition.groups.0.filters.0.field', 'custom'],
      ['condition.groups.0.filters.1.field', 'custom'],
    ])
    const [error] = errorsOf(() => resolveTree(parsed(asked), new Map(sources), 'condition'))
    assert.match(error?.message ?? '', 'asks for itself')
  })

  test('may be named more than once, directly and through others', () => {
    const sources: Sources = [
      [A, computed(treeOf(plan))],
      [B, computed(treeOf(memberOf(A)))],
      [C, computed(treeOf(memberOf(A), notMemberOf(B)))],
    ]
    assert.equal(refusalsOf(treeOf(memberOf(A), memberOf(B), memberOf(C), memberOf(A)), sources), [])
  })

  /** Each asks for the one before it, `times` times. */
  const chain = (length: number, times = 1): Sources =>
    ids.slice(0, length).map((id, index) => {
      const before = ids[index - 1]
      return [
        id,
        computed(before ? treeOf(...Array.from({ length: times }, () => memberOf(before))) : treeOf(plan)),
      ]
    })

  test('are at most 10 inside one another', () => {
    assert.equal(refusalsOf(treeOf(memberOf(ids[9] ?? '')), chain(10)), [])
    for (const self of [null, randomUUID()]) {
      assert.equal(refusalsOf(treeOf(memberOf(ids[10] ?? '')), chain(11), self), [
        ['condition.groups.0.filters.0.field', 'too_big'],
      ])
    }
  })

  test('must not multiply', () => {
    assert.equal(refusalsOf(treeOf(memberOf(ids[2] ?? '')), chain(3, 11)), [])
    assert.equal(refusalsOf(treeOf(memberOf(ids[3] ?? '')), chain(4, 11)), [
      ['condition.groups.0.filters.0.field', 'too_big'],
    ])
    const many = Array.from({ length: 100 }, () => memberOf(ids[1] ?? ''))
    assert.equal(refusalsOf(treeOf(...many), chain(2, 10)), [['condition', 'too_big']])
  })

  test('are looked at once each, however often they are named', () => {
    const naming = (id: string, times: number) => treeOf(...Array.from({ length: times }, () => memberOf(id)))
    const sources: Sources = [
      [ids[0] ?? '', computed(naming(ids[3] ?? '', 9))],
      [ids[1] ?? '', computed(naming(ids[0] ?? '', 100))],
      [ids[2] ?? '', computed(naming(ids[1] ?? '', 100))],
      [ids[3] ?? '', { members: 'stored' }],
    ]
    const asked = naming(ids[2] ?? '', 100)
    const started = performance.now()
    assert.is(refusalsOf(asked, sources).length, 100)
    // Looking at them as often as they are named would take hours.
    assert.ok(performance.now() - started < 10_000)
  })
})

scenario(
  'Membership',
  () =>
    worldOf({
      stored: { memberOf: [0] },
      pro: { dataText: '{"plan":"pro"}' },
      both: { dataText: '{"plan":"pro"}', memberOf: [0] },
      neither: {},
    }),
  (test) => {
    const [S = ''] = STORED
    const sources: Record<string, SegmentSource> = {
      [S]: { members: 'stored' },
      [A]: computed(treeOf(plan)),
      [B]: computed({ logic: 'OR', groups: [{ filters: [memberOf(A)] }, { filters: [memberOf(S)] }] }),
    }

    test('is looked up, or is the condition', async (world) => {
      assert.equal(await whoMatches(world, treeOf(memberOf(S)), sources), ['both', 'stored'])
      assert.equal(await whoMatches(world, treeOf(notMemberOf(S)), sources), ['neither', 'pro'])
      assert.equal(await whoMatches(world, treeOf(memberOf(A)), sources), ['both', 'pro'])
      assert.equal(await whoMatches(world, treeOf(notMemberOf(A)), sources), ['neither', 'stored'])
      assert.equal(await whoMatches(world, treeOf(memberOf(B)), sources), ['both', 'pro', 'stored'])
      assert.equal(await whoMatches(world, treeOf(notMemberOf(B), notMemberOf(A)), sources), ['neither'])
    })
  },
)

async function addSegment(
  service: Service,
  projectId: string,
  segment: { type: string; tracked?: boolean; condition?: object },
): Promise<string> {
  const id = randomUUID()
  await service.sql(
    `insert into segments (project_id, id, name, slug, type, track_membership, condition, created_at, updated_at)
     values ($1, $2, 'Some', $2::uuid::text, $3::segment_type, $4, $5, $6, $6)`,
    [projectId, id, segment.type, segment.tracked ?? false, JSON.stringify(segment.condition ?? null), NOW],
  )
  return id
}

scenario(
  'An audience that is read from the database',
  async () => {
    const service = await startService({ ROLES: 'http' })
    const { id: projectId } = service.project
    const contactId = randomUUID()
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     values ($1, $2, 'ada@example.org', true, '{"plan":"pro"}', $3, $3)`,
      [projectId, contactId, NOW],
    )
    return { ...service, projectId, contactId }
  },
  (test) => {
    test('finds stored, tracked and computed segments, through one another', async (service) => {
      const { projectId, contactId } = service
      const ctx = service.ctx(projectId)
      const stored = await addSegment(service, projectId, { type: 'STATIC' })
      const tracked = await addSegment(service, projectId, {
        type: 'DYNAMIC',
        tracked: true,
        condition: treeOf({ ...plan, value: 'free' }),
      })
      const inner = await addSegment(service, projectId, {
        type: 'DYNAMIC',
        condition: treeOf(plan, memberOf(stored), notMemberOf(tracked)),
      })
      const outer = await addSegment(service, projectId, {
        type: 'DYNAMIC',
        condition: treeOf(memberOf(inner)),
      })
      await service.sql(
        'insert into segment_members (project_id, segment_id, contact_id, created_at) values ($1, $2, $3, $4)',
        [projectId, stored, contactId, NOW],
      )
      // Tracked members are stored too, but follow the condition with a delay.
      await service.sql(
        'insert into segment_members (project_id, segment_id, contact_id, created_at) values ($1, $2, $3, $4)',
        [projectId, tracked, contactId, NOW],
      )
      for (const [asked, expected] of [
        [treeOf(memberOf(outer)), true],
        [treeOf(notMemberOf(outer)), false],
        [treeOf(memberOf(tracked)), false],
      ] as const) {
        const audience = await loadAudience(ctx, parsed(asked), 'condition')
        const subject = await loadSubject(ctx, contactId, audience)
        assert.ok(subject)
        assert.is(matchTree(audience, subject, NOW), expected)
        const found = await idsOf(service, compileTree(audience, NOW))
        assert.equal(found, expected ? [contactId] : [])
      }
      await ctx.atomically(async (inside) => {
        assert.ok(
          await loadSubject(
            inside,
            contactId,
            await loadAudience(inside, parsed(treeOf(memberOf(outer))), 'x'),
          ),
        )
      })
    })

    test('does not find the segments and contacts of another project', async (service) => {
      const other = await service.newProject()
      const foreign = await addSegment(service, other.id, { type: 'STATIC' })
      const ctx = service.ctx(service.projectId)
      const refused = await loadAudience(ctx, parsed(treeOf(memberOf(foreign))), 'condition').then(
        () => [],
        (error: unknown) =>
          problemsOf(() => {
            throw error
          }),
      )
      assert.equal(refused, [['condition.groups.0.filters.0.field', 'custom']])
      const audience = await loadAudience(ctx, parsed(treeOf(plan)), 'condition')
      assert.is(await loadSubject(service.ctx(other.id), service.contactId, audience), null)
    })

    test('sees a circle, and a chain that is too long', async (service) => {
      const { projectId } = service
      const ctx = service.ctx(projectId)
      const refusalsOf = (id: string, self: string | null = null) =>
        loadAudience(ctx, parsed(treeOf(memberOf(id))), 'condition', self).then(
          () => [],
          (error: unknown) =>
            errorsOf(() => {
              throw error
            }).map(({ code, message }) => [code, message]),
        )
      const first = await addSegment(service, projectId, { type: 'DYNAMIC', condition: treeOf(plan) })
      let last = first
      for (let count = 1; count < 13; count += 1) {
        last = await addSegment(service, projectId, { type: 'DYNAMIC', condition: treeOf(memberOf(last)) })
      }
      assert.equal(await refusalsOf(last), [
        ['too_big', 'leads through more than 10 segments, one inside the other'],
      ])
      const second = await addSegment(service, projectId, {
        type: 'DYNAMIC',
        condition: treeOf(memberOf(first)),
      })
      assert.equal(await refusalsOf(second, first), [
        ['custom', 'leads back to the segment itself, or to one that asks for itself'],
      ])
    })

    test('reads the last events, and of opens those by persons', async (service) => {
      const { projectId, contactId } = service
      const ctx = service.ctx(projectId)
      const events: [name: string, at: string, data: object][] = [
        ['bought', '2026-03-01T00:00:00Z', {}],
        ['bought', '2026-03-02T00:00:00Z', {}],
        ['email.open', '2026-03-03T00:00:00Z', { bot: false }],
        ['email.open', '2026-03-04T00:00:00Z', { bot: true }],
        ['email.click', '2026-03-05T00:00:00Z', { bot: true }],
        ['other', '2026-03-06T00:00:00Z', {}],
      ]
      for (const [name, at, data] of events) {
        await service.sql(
          'insert into events (project_id, id, contact_id, name, data, created_at) values ($1, $2, $3, $4, $5, $6)',
          [projectId, randomUUID(), contactId, name, JSON.stringify(data), at],
        )
      }
      const asked = ['event.bought', 'email.opened', 'email.clicked', 'event.never'].map((field) => ({
        field,
        operator: 'triggered',
      }))
      const audience = await loadAudience(ctx, parsed(treeOf(...asked)), 'condition')
      const subject = await loadSubject(ctx, contactId, audience)
      assert.ok(subject)
      const { matches, groups } = explainTree(audience, subject, NOW)
      assert.is(matches, false)
      assert.equal(
        groups[0]?.filters.map(({ field, matches, actual }) => [field, matches, actual]),
        [
          ['event.bought', true, '2026-03-02T00:00:00.000Z'],
          ['email.opened', true, '2026-03-03T00:00:00.000Z'],
          ['email.clicked', false, null],
          ['event.never', false, null],
        ],
      )
    })
  },
)
