import * as assert from 'uvu/assert'
import { compileTree } from '../../src/audience/compile.sql.ts'
import { describeTree } from '../../src/audience/describe.rules.ts'
import { dataField } from '../../src/audience/fields.rules.ts'
import { explainTree, matchTree, type Subject } from '../../src/audience/match.rules.ts'
import { parseFilter } from '../../src/audience/parsing/parse.ts'
import { referencesOf } from '../../src/audience/references.rules.ts'
import { resolveTree } from '../../src/audience/resolve.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { NOW } from './arbitrary.ts'
import { computed, parsed, problemsOf, treeOf } from './ask.ts'

const ID = '019a0000-0000-7000-8000-00000000000a'

const PHRASES: [filter: object, phrase: string][] = [
  [{ field: 'data.plan', operator: 'equals', value: 'pro' }, 'plan is "pro"'],
  [{ field: 'data.plan', operator: 'notEquals', value: 'p"o' }, 'plan is not "p\\"o"'],
  [{ field: 'data.address.city', operator: 'contains', value: 'x' }, 'address.city contains "x"'],
  [{ field: 'email', operator: 'notContains', value: '@x' }, 'email does not contain "@x"'],
  [{ field: 'data.age', operator: 'greaterThan', value: 5 }, 'age is greater than 5'],
  [{ field: 'data.age', operator: 'lessThanOrEqual', value: 5 }, 'age is at most 5'],
  [{ field: 'data.born', operator: 'greaterThan', value: '2026-03-04' }, 'born is after "2026-03-04"'],
  [
    { field: 'createdAt', operator: 'lessThanOrEqual', value: '2026-03-04' },
    'creation date is at or before "2026-03-04"',
  ],
  [
    { field: 'createdAt', operator: 'within', value: 1, unit: 'days' },
    'creation date is within the last 1 day',
  ],
  [
    { field: 'updatedAt', operator: 'olderThan', value: 30, unit: 'minutes' },
    'last change is more than 30 minutes ago',
  ],
  [{ field: 'data.x', operator: 'exists' }, 'x is set'],
  [{ field: 'data.x', operator: 'notExists' }, 'x is not set'],
  [{ field: 'subscribed', operator: 'equals', value: true }, 'subscribed'],
  [{ field: 'subscribed', operator: 'notEquals', value: true }, 'not subscribed'],
  [{ field: 'subscribed', operator: 'equals', value: false }, 'not subscribed'],
  [
    { field: 'email.opened', operator: 'triggeredWithin', value: 30, unit: 'days' },
    'opened an email within 30 days',
  ],
  [
    { field: 'email.sent', operator: 'notTriggeredWithin', value: 2, unit: 'hours' },
    'was not sent an email within 2 hours',
  ],
  [{ field: 'email.clicked', operator: 'notTriggered' }, 'never clicked in an email'],
  [{ field: 'event.signed up', operator: 'triggered' }, 'triggered "signed up"'],
  [{ field: 'event.x', operator: 'notTriggered' }, 'never triggered "x"'],
  [
    { field: 'event.x', operator: 'triggeredOlderThan', value: 7, unit: 'days' },
    'triggered "x", but not within 7 days',
  ],
  [{ field: `segment.${ID}`, operator: 'memberOfSegment' }, 'in the segment "VIP"'],
  [
    { field: 'segment.019a0000-0000-7000-8000-00000000000b', operator: 'notMemberOfSegment' },
    'not in the segment "019a0000-0000-7000-8000-00000000000b"',
  ],
]
const segmentName = (id: string) => (id === ID ? 'VIP' : undefined)

scenario('A tree in words', nothingShared, (test) => {
  for (const [filter, phrase] of PHRASES) {
    test(`says: ${phrase}`, () => {
      assert.is(describeTree(parsed(treeOf(filter)), { segmentName }), phrase)
    })
  }

  const plan = { field: 'data.plan', operator: 'equals', value: 'pro' }
  const active = { field: 'email.opened', operator: 'triggeredWithin', value: 30, unit: 'days' }
  const member = { field: 'subscribed', operator: 'equals', value: true }

  test('has brackets where the joining words differ', () => {
    const either = { logic: 'OR', groups: [{ filters: [active] }, { filters: [member] }] }
    const tree = { logic: 'AND', groups: [{ filters: [plan], conditions: either }, { filters: [member] }] }
    assert.is(
      describeTree(parsed(tree)),
      'plan is "pro" and (opened an email within 30 days or subscribed) and subscribed',
    )
    const other = { logic: 'OR', groups: [{ filters: [plan, member] }, { filters: [], conditions: either }] }
    assert.is(
      describeTree(parsed(other)),
      '(plan is "pro" and subscribed) or opened an email within 30 days or subscribed',
    )
  })
})

scenario('References', nothingShared, (test) => {
  test('are what a tree names, each once, nested conditions included', () => {
    const conditions = {
      logic: 'OR',
      groups: [
        {
          filters: [
            { field: 'email', operator: 'contains', value: 'x' },
            { field: 'data.plan', operator: 'exists' },
            { field: 'data.plan.tier', operator: 'exists' },
            { field: 'data.a\\.b', operator: 'exists' },
            { field: 'event.email.open', operator: 'triggered' },
            { field: 'email.opened', operator: 'triggered' },
          ],
        },
        { filters: [{ field: `segment.${ID.toUpperCase()}`, operator: 'memberOfSegment' }] },
      ],
    }
    const tree = parsed({
      logic: 'AND',
      groups: [
        {
          filters: [
            { field: 'data.plan', operator: 'equals', value: 'event.not' },
            { field: 'createdAt', operator: 'within', value: 1, unit: 'days' },
            { field: 'event.bought', operator: 'triggered' },
            { field: `segment.${ID}`, operator: 'notMemberOfSegment' },
          ],
          conditions,
        },
      ],
    })
    assert.equal(referencesOf(tree), {
      fields: ['data.plan', 'createdAt', 'email', 'data.plan.tier', 'data.a\\.b'],
      keys: ['plan', 'a.b'],
      events: ['bought', 'email.open'],
      segments: [ID],
    })
  })
})

scenario('The names of fields', nothingShared, (test) => {
  test('can hold any key', () => {
    for (const path of [
      ['a'],
      ['a.b'],
      ['a\\'],
      ['a\\', 'b'],
      ['\\.', '.\\'],
      ['\\\\'],
      ['first name', '0', '__proto__'],
    ]) {
      const tree = parsed(treeOf({ field: dataField(path), operator: 'exists' }))
      assert.equal(tree.groups[0]?.filters[0]?.test, { on: 'data', path, is: { is: 'present' } })
    }
  })

  test('take a backslash before anything but a dot or a backslash for itself', () => {
    const tree = parsed(treeOf({ field: 'data.a\\b', operator: 'exists' }))
    assert.equal(referencesOf(tree).keys, ['a\\b'])
  })
})

const subject: Subject = {
  contact: {
    email: 'ada@example.org',
    subscribed: true,
    createdAt: NOW,
    updatedAt: NOW,
    data: { plan: 'pro', age: 5 },
  },
  events: new Map([['bought', { at: new Date('2026-03-01T00:00:00Z'), byPerson: null }]]),
  segments: new Set(['019a0000-0000-7000-8000-00000000000b']),
  context: { plan: 'free', total: { amount: 20 } },
}

scenario('An explanation', nothingShared, (test) => {
  test('says for each node whether it is true, and what the contact has', () => {
    const tree = parsed({
      logic: 'OR',
      groups: [
        {
          filters: [
            { field: 'data.plan', operator: 'equals', value: 'free' },
            { field: 'data.city', operator: 'notEquals', value: 'Rome' },
          ],
          conditions: treeOf({ field: 'createdAt', operator: 'equals', value: '2026-03-10' }),
        },
        { filters: [{ field: 'event.bought', operator: 'triggeredWithin', value: 7, unit: 'days' }] },
        { filters: [{ field: `segment.${ID}`, operator: 'notMemberOfSegment' }] },
      ],
    })
    const vip = computed(treeOf({ field: 'data.age', operator: 'greaterThan', value: 18 }))
    const audience = resolveTree(tree, new Map([[ID, vip]]), 'condition')
    const plain = (
      field: string,
      operator: string,
      matches: boolean,
      actual: unknown,
      more: object = {},
    ) => ({
      field,
      operator,
      matches,
      actual,
      segment: null,
      ...more,
    })
    const segment = {
      matches: false,
      logic: 'AND',
      groups: [
        {
          matches: false,
          filters: [plain('data.age', 'greaterThan', false, 5, { value: 18 })],
          conditions: null,
        },
      ],
    }
    const bought = plain('event.bought', 'triggeredWithin', false, '2026-03-01T00:00:00.000Z', {
      value: 7,
      unit: 'days',
    })
    assert.equal(explainTree(audience, subject, NOW), {
      matches: true,
      logic: 'OR',
      groups: [
        {
          matches: false,
          filters: [
            plain('data.plan', 'equals', false, 'pro', { value: 'free' }),
            plain('data.city', 'notEquals', true, null, { value: 'Rome' }),
          ],
          conditions: {
            matches: true,
            logic: 'AND',
            groups: [
              {
                matches: true,
                filters: [plain('createdAt', 'equals', true, NOW.toISOString(), { value: '2026-03-10' })],
                conditions: null,
              },
            ],
          },
        },
        { matches: false, filters: [bought], conditions: null },
        {
          matches: true,
          filters: [plain(`segment.${ID}`, 'notMemberOfSegment', true, false, { segment })],
          conditions: null,
        },
      ],
    })
  })
})

scenario('A condition of a workflow', nothingShared, (test) => {
  const matches = (filter: object) =>
    matchTree(
      resolveTree(parseFilter(filter, 'config', { context: true }), new Map(), 'config'),
      subject,
      NOW,
    )

  test('may ask for the contact, and for the event that the workflow runs for', () => {
    assert.is(matches({ field: 'data.plan', operator: 'equals', value: 'pro' }), true)
    assert.is(matches({ field: 'event.plan', operator: 'equals', value: 'pro' }), false)
    assert.is(matches({ field: 'event.plan', operator: 'equals', value: 'free' }), true)
    assert.is(matches({ field: 'event.total.amount', operator: 'greaterThan', value: 19.5 }), true)
    assert.is(matches({ field: 'event.nothing', operator: 'exists' }), false)
    assert.is(matches({ field: 'event.bought', operator: 'triggered' }), true)
  })

  test('reads the path of the event like that of data', () => {
    const refused = (filter: object) => problemsOf(() => parseFilter(filter, 'config', { context: true }))
    assert.equal(refused({ field: 'event.a..b', operator: 'exists' }), [['config.field', 'invalid_string']])
    assert.equal(refused({ field: 'event.a', operator: 'equals' }), [['config.value', 'required']])
    assert.equal(refused({ field: 'event.a', operator: 'memberOfSegment' }), [
      ['config.operator', 'invalid_enum_value'],
    ])
    assert.equal(refused({ field: `event.${'a\\'.repeat(500_000)}`, operator: 'exists' }), [
      ['config.field', 'too_big'],
    ])
  })

  test('cannot be compiled when it asks for the event', () => {
    const tree = parseFilter({ field: 'event.a', operator: 'exists' }, 'config', { context: true })
    const audience = resolveTree(tree, new Map(), 'config')
    assert.throws(() => compileTree(audience, NOW), /cannot be asked of the database/)
    assert.equal(referencesOf(tree), { fields: [], keys: [], events: [], segments: [] })
  })
})
