import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { NOW, type PersonSeed, STORED } from './arbitrary.ts'
import { treeOf, whoMatches, worldOf } from './ask.ts'

const DAY = 86_400_000
const ago = (milliseconds: number) => new Date(NOW.getTime() - milliseconds)
const having = (x: unknown): Partial<PersonSeed> => ({ dataText: JSON.stringify({ x }) })

/** What a filter asks, and who matches it. */
type Row = [asked: object, matches: string[]]
const titleOf = (asked: object) => Object.values(asked).join(' ')

const VALUES: Record<string, unknown> = {
  null: null,
  five: 5,
  ten: 10,
  'text-five': '5',
  pro: 'pro',
  capital: 'Pro',
  yes: true,
  no: false,
  day: '2026-03-04',
  morning: '2026-03-04T08:00:00Z',
  late: '2026-03-04T23:59:59.999Z',
  next: '2026-03-05T00:00:00.000Z',
  elsewhere: '2026-03-05T01:00:00+02:00',
  'no-day': '2026-02-31',
  list: ['pro', 5],
  object: { y: 'pro' },
}
const ALL = ['missing', ...Object.keys(VALUES)].toSorted()
const allBut = (...names: string[]) => ALL.filter((name) => !names.includes(name))
const THE_DAY = ['day', 'elsewhere', 'late', 'morning']
const x = (operator: string, value?: unknown, unit?: string) => ({ field: 'data.x', operator, value, unit })

const OF_DATA: Row[] = [
  [x('equals', 5), ['five']],
  [x('equals', '5'), ['text-five']],
  [x('equals', 'pro'), ['pro']],
  [x('equals', true), ['yes']],
  [x('equals', 'true'), []],
  [x('notEquals', 5), allBut('five')],
  [x('notEquals', 'pro'), allBut('pro')],
  [x('notEquals', true), allBut('yes')],
  [x('equals', '2026-03-04'), THE_DAY],
  [x('notEquals', '2026-03-04'), allBut(...THE_DAY)],
  [x('equals', '2026-03-04T10:00:00+02:00'), ['morning']],
  [x('equals', '2026-02-31'), ['no-day']],
  [x('contains', 'ro'), ['capital', 'pro']],
  [x('contains', 'pro'), ['list', 'pro']],
  [x('contains', 5), ['list']],
  [x('contains', '5'), ['elsewhere', 'late', 'next', 'text-five']],
  [x('notContains', 'pro'), allBut('list', 'pro')],
  [x('greaterThan', 5), ['ten']],
  [x('greaterThanOrEqual', 5), ['five', 'ten']],
  [x('lessThan', 10), ['five']],
  [x('lessThanOrEqual', 10), ['five', 'ten']],
  [x('greaterThan', '2026-03-04'), ['elsewhere', 'late', 'morning', 'next']],
  [x('greaterThanOrEqual', '2026-03-04T08:00:00Z'), ['elsewhere', 'late', 'morning', 'next']],
  [x('lessThan', '2026-03-04T08:00:00Z'), ['day']],
  [x('lessThanOrEqual', '2026-03-04T08:00:00Z'), ['day', 'morning']],
  [x('greaterThan', 'Pro'), ['pro']],
  [x('lessThan', 'Pro'), ['day', 'elsewhere', 'late', 'morning', 'next', 'no-day', 'text-five']],
  [x('within', 6, 'days'), ['elsewhere', 'late', 'next']],
  [x('olderThan', 6, 'days'), ['day', 'morning']],
  [x('exists'), allBut('missing', 'null')],
  [x('notExists'), ['missing', 'null']],
  [{ field: 'data.x.y', operator: 'equals', value: 'pro' }, ['object']],
  [{ field: 'data.x.0', operator: 'equals', value: 'pro' }, []],
  [{ field: 'data.toString', operator: 'exists' }, []],
]

scenario(
  'Filters on data',
  () => {
    const people = Object.entries(VALUES).map(([name, value]) => [name, having(value)])
    return worldOf({ missing: {}, ...Object.fromEntries(people) })
  },
  (test) => {
    for (const [asked, matches] of OF_DATA) {
      test(titleOf(asked), async (world) => {
        assert.equal(await whoMatches(world, treeOf(asked)), matches)
      })
    }
  },
)

const OF_CONTACTS: Row[] = [
  [{ field: 'email', operator: 'equals', value: ' ADA@Example.org ' }, ['ada']],
  [{ field: 'email', operator: 'notEquals', value: 'Ada@example.org' }, ['a_a', 'edge', 'old', 'tomorrow']],
  [{ field: 'email', operator: 'contains', value: 'DA@' }, ['ada']],
  [{ field: 'email', operator: 'contains', value: 'a_a' }, ['a_a']],
  [{ field: 'email', operator: 'contains', value: '%' }, []],
  [{ field: 'email', operator: 'notContains', value: 'D' }, ['a_a', 'tomorrow']],
  [{ field: 'subscribed', operator: 'equals', value: true }, ['a_a', 'ada', 'edge', 'tomorrow']],
  [{ field: 'subscribed', operator: 'notEquals', value: true }, ['old']],
  [{ field: 'createdAt', operator: 'equals', value: '2026-03-10' }, ['a_a', 'ada']],
  [{ field: 'createdAt', operator: 'notEquals', value: '2026-03-10' }, ['edge', 'old', 'tomorrow']],
  [{ field: 'createdAt', operator: 'equals', value: '2026-03-10T12:00:00Z' }, ['ada']],
  [{ field: 'createdAt', operator: 'greaterThan', value: '2026-03-10T12:00:00Z' }, ['a_a', 'tomorrow']],
  [
    { field: 'createdAt', operator: 'greaterThanOrEqual', value: '2026-03-10T12:00:00Z' },
    ['a_a', 'ada', 'tomorrow'],
  ],
  [{ field: 'createdAt', operator: 'lessThan', value: '2026-03-10' }, ['edge', 'old']],
  [
    { field: 'createdAt', operator: 'lessThanOrEqual', value: '2026-03-10T12:00:00Z' },
    ['ada', 'edge', 'old'],
  ],
  [{ field: 'createdAt', operator: 'within', value: 7, unit: 'days' }, ['a_a', 'ada', 'edge', 'tomorrow']],
  [{ field: 'createdAt', operator: 'within', value: 168, unit: 'hours' }, ['a_a', 'ada', 'edge', 'tomorrow']],
  [{ field: 'createdAt', operator: 'within', value: 10_079, unit: 'minutes' }, ['a_a', 'ada', 'tomorrow']],
  [{ field: 'createdAt', operator: 'olderThan', value: 7, unit: 'days' }, ['old']],
  [{ field: 'updatedAt', operator: 'olderThan', value: 7, unit: 'days' }, ['ada']],
  [{ field: `segment.${STORED[0]}`, operator: 'memberOfSegment' }, ['ada']],
  [
    { field: `segment.${STORED[0]?.toUpperCase()}`, operator: 'notMemberOfSegment' },
    ['a_a', 'edge', 'old', 'tomorrow'],
  ],
]

scenario(
  'Filters on contacts themselves',
  () =>
    worldOf({
      ada: { updatedAt: ago(8 * DAY), memberOf: [0] },
      a_a: { createdAt: new Date('2026-03-10T23:59:59.999Z') },
      edge: { createdAt: ago(7 * DAY) },
      old: { createdAt: ago(7 * DAY + 1), subscribed: false },
      tomorrow: { createdAt: new Date('2026-03-11T00:00:00.000Z') },
    }),
  (test) => {
    for (const [asked, matches] of OF_CONTACTS) {
      test(titleOf(asked), async (world) => {
        const segments = Object.fromEntries(STORED.map((id) => [id, { members: 'stored' as const }]))
        assert.equal(await whoMatches(world, treeOf(asked), segments), matches)
      })
    }
  },
)

const bought = (...ages: number[]) => ({
  events: ages.map((age) => ({ name: 'bought', at: ago(age), data: {} })),
})
const opened = (data: object) => ({ events: [{ name: 'email.open', at: ago(DAY), data }] })
const event = (operator: string, value?: number, unit = 'days') => ({
  field: 'event.bought',
  operator,
  value,
  unit,
})
const NEVER = ['human', 'never', 'scanner']

const OF_EVENTS: Row[] = [
  [event('triggered'), ['both', 'edge', 'old', 'recent']],
  [event('notTriggered'), NEVER],
  [event('triggeredWithin', 7), ['both', 'edge', 'recent']],
  [event('triggeredOlderThan', 7), ['old']],
  [event('notTriggeredWithin', 7), [...NEVER, 'old'].toSorted()],
  [event('triggeredWithin', 24, 'hours'), ['both', 'recent']],
  [{ field: 'event.Bought', operator: 'triggered' }, []],
  [{ field: 'event.email.open', operator: 'triggered' }, ['human', 'scanner']],
  [{ field: 'email.opened', operator: 'triggered' }, ['human']],
  [{ field: 'email.opened', operator: 'triggeredWithin', value: 1, unit: 'days' }, ['human']],
  [{ field: 'email.opened', operator: 'triggeredOlderThan', value: 1, unit: 'hours' }, ['human']],
  [{ field: 'email.clicked', operator: 'triggered' }, []],
]

scenario(
  'Filters on events',
  () =>
    worldOf({
      never: {},
      recent: bought(1),
      edge: bought(7 * DAY),
      old: bought(7 * DAY + 1, 30 * DAY),
      both: bought(DAY, 30 * DAY),
      human: opened({ bot: false }),
      scanner: opened({ bot: true }),
    }),
  (test) => {
    for (const [asked, matches] of OF_EVENTS) {
      test(titleOf(asked), async (world) => {
        assert.equal(await whoMatches(world, treeOf(asked)), matches)
      })
    }
  },
)

const ACTIVITIES: [activity: string, event: string][] = [
  ['sent', 'email.sent'],
  ['delivered', 'email.delivery'],
  ['opened', 'email.open'],
  ['clicked', 'email.click'],
  ['bounced', 'email.bounce'],
  ['complained', 'email.complaint'],
]

scenario(
  'Filters on email',
  () =>
    worldOf(
      Object.fromEntries(
        ACTIVITIES.map(([activity, name]) => [activity, { events: [{ name, at: NOW, data: {} }] }]),
      ),
    ),
  (test) => {
    for (const [activity] of ACTIVITIES) {
      test(`email.${activity} is about those whose mail was ${activity}`, async (world) => {
        const asked = { field: `email.${activity}`, operator: 'triggered' }
        assert.equal(await whoMatches(world, treeOf(asked)), [activity])
      })
    }
  },
)

const a = { field: 'data.a', operator: 'exists' }
const b = { field: 'data.b', operator: 'exists' }
const c = { field: 'data.c', operator: 'exists' }
const keys = (...names: string[]) => ({
  dataText: JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))),
})

scenario(
  'Trees',
  () => worldOf({ a: keys('a'), b: keys('b'), ab: keys('a', 'b'), bc: keys('b', 'c'), none: {} }),
  (test) => {
    test('join the filters of a group with AND', async (world) => {
      assert.equal(await whoMatches(world, treeOf(a, b)), ['ab'])
    })

    test('join groups by their logic', async (world) => {
      const groups = [{ filters: [a] }, { filters: [b] }]
      assert.equal(await whoMatches(world, { logic: 'AND', groups }), ['ab'])
      assert.equal(await whoMatches(world, { logic: 'OR', groups }), ['a', 'ab', 'b', 'bc'])
    })

    test('join nested conditions to their group with AND', async (world) => {
      const conditions = { logic: 'OR', groups: [{ filters: [a] }, { filters: [c] }] }
      const asked = { logic: 'OR', groups: [{ filters: [b], conditions }] }
      assert.equal(await whoMatches(world, asked), ['ab', 'bc'])
    })

    test('may have a group of nothing but conditions', async (world) => {
      for (const filters of [[], undefined, null]) {
        const asked = { logic: 'AND', groups: [{ filters, conditions: treeOf(a) }] }
        assert.equal(await whoMatches(world, asked), ['a', 'ab'])
      }
    })

    test('take null for no conditions', async (world) => {
      const asked = { logic: 'AND', groups: [{ filters: [a], conditions: null }] }
      assert.equal(await whoMatches(world, asked), ['a', 'ab'])
    })
  },
)
