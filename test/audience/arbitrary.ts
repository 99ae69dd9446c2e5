import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Body } from '../support/service.ts'

export const NOW = new Date('2026-03-10T12:00:00.000Z')

const DAY = 86_400_000
/** Before now, around the ends of the windows that filters ask for; below zero is later than now. */
const AGES = [0, 1, 59_999, 60_000, 60_001, 1_800_000, 3_600_000, 3_600_001, DAY - 1, DAY, DAY + 1].concat([
  7 * DAY - 1,
  7 * DAY,
  7 * DAY + 1,
  30 * DAY,
  31 * DAY,
  -1,
  -DAY,
])
const timestamp = fc.oneof(
  fc.constantFrom(...AGES).map((age) => new Date(NOW.getTime() - age)),
  fc
    .constantFrom('2026-03-04T00:00:00.000Z', '2026-03-04T23:59:59.999Z', '2026-03-05T00:00:00.000Z')
    .map((text) => new Date(text)),
)

const DATES = [
  '2026-03-04',
  '2026-03-05',
  '2026-03-03',
  '2024-02-29',
  '0001-01-01',
  '9999-12-31',
  '2026-03-04T00:00:00Z',
  '2026-03-04T00:00:00.000Z',
  '2026-03-04T23:59:59.999Z',
  '2026-03-04T23:59:59.9999999Z',
  '2026-03-05T00:00:00+00:00',
  '2026-03-05T01:30:00+02:00',
  '2026-03-04T10:00',
  '2026-03-04 10:00:00',
  '2026-03-04T05:00:00-0500',
  '2026-03-08T02:30:00',
  '2026-03-10T12:00:00.000Z',
  '2026-03-09T12:00:00.000Z',
  '2026-03-09T11:59:59.999999Z',
  '2026-03-03T12:00:00.000Z',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59.999-14:00',
]
/** Almost dates; a cast of the first ones is an error in Postgres, of some others it is not. */
const NO_DATES = [
  '2026-02-31',
  '2026-02-29',
  '1900-02-29',
  '0000-01-01',
  '2026-13-01',
  '2026-00-10',
  '2026-03-04T24:00:00Z',
  '2026-03-04T23:59:60Z',
  '2026-03-04T10:00:00+15:00',
  '2026-03-04T10:00:00+99:99',
  '2026-03-04T',
  '2026-03-04Z',
  ' 2026-03-04',
  '2026-03-04\n',
  '٢٠٢٦-٠٣-٠٤',
  '294277-01-01T00:00:00Z',
  'infinity',
  'now',
  'today',
  'epoch',
]
const WORDS = [
  'pro',
  'PRO',
  'free',
  '',
  'pr',
  '5',
  'true',
  'null',
  'é',
  'e\u0301',
  '\u{1F600}',
  '\uFFFD',
  'z',
  'Z',
]
const HOSTILE = ["'; drop table contacts; --", '%', '_', '\\', '"', '$1', '{"a":1}', '$.a ? (@ > 1)', 'a\tb']
const NUMBERS = [5, 0, -0, 5.5, -1, 1e21, 1e-7, 9007199254740991, 0.1, 1e308, 20260304]

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 3, arbitrary: fc.constantFrom(...DATES) },
  { weight: 1, arbitrary: fc.constantFrom(...NO_DATES) },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }).map((some) => some.replaceAll('\0', '')),
  },
)
const number = fc.constantFrom(...NUMBERS)
const date = fc.constantFrom(...DATES)

/** Numbers that JavaScript cannot write are put in as text: see `dataText`. */
const RAW: Record<string, string> = { '@huge@': '1e400', '@low@': '-1e400', '@long@': '1'.repeat(500) }
const scalar = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 3, arbitrary: number },
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(...Object.keys(RAW)),
)
const KEYS = ['a', 'b', 'first name', `it's "x"`, '__proto__', 'constructor', 'ü', '0', 'k.dot', '$1']

const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  fc.array(fc.array(scalar, { maxLength: 2 }), { maxLength: 2 }),
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.constantFrom('a', 'b', '0', '__proto__'),
      fc.oneof(scalar, fc.constant({ b: 5 }), fc.constant(['pro', 5])),
      { maxKeys: 3 },
    ),
  },
)

const mostly = (common: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 6, arbitrary: common }, { weight: 1, arbitrary: value })

/** Keys that hold values of one type, as a rule, so that filters tell contacts apart. */
const usual = fc.record(
  {
    plan: mostly(fc.constantFrom('pro', 'PRO', 'free', 'pr')),
    age: mostly(number),
    born: mostly(date),
    tags: mostly(fc.subarray(['pro', 'free', 5, '5', null])),
    vip: mostly(fc.boolean()),
  },
  { requiredKeys: [] },
)

export type PersonSeed = {
  email: string
  subscribed: boolean
  createdAt: Date
  updatedAt: Date
  dataText: string
  events: { name: string; at: Date; data: Body }[]
  memberOf: number[]
}

const EVENTS = ['signed_up', 'a.b', `it's`, '鍵', 'email.sent', 'email.delivery', 'email.open', 'email.click']
const OTHER_EVENTS = [
  'email.bounce',
  'email.complaint',
  'contact.subscribed',
  'segment.vip.entry',
  'EMAIL.OPEN',
]

/** A contact with what it did; `email` is made different by who inserts it. */
export const person: fc.Arbitrary<PersonSeed> = fc.record({
  email: fc.constantFrom('ada', 'bob%', 'a_c', 'x\\y', 'pro', 'straße'),
  subscribed: fc.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
  dataText: fc
    .tuple(fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 9 }), usual)
    .map(([odd, data]) => ({ ...odd, ...data }))
    .map((data) => JSON.stringify(data).replaceAll(/"(@\w+@)"/g, (_, name) => RAW[name] ?? 'null')),
  events: fc.array(
    fc.record({
      name: fc.constantFrom(...EVENTS, ...OTHER_EVENTS),
      at: timestamp,
      data: fc.constantFrom(
        {},
        { bot: true },
        { bot: true },
        { bot: false },
        { bot: 'true' },
        { bot: [true] },
      ),
    }),
    { maxLength: 8 },
  ),
  memberOf: fc.subarray([0, 1]),
})

/** Two segments with stored members, and two that are their conditions. */
export const STORED = [randomUUID(), randomUUID()]
export const COMPUTED = [randomUUID(), randomUUID()]

const PATHS = [
  ...KEYS.map((key) => key.replaceAll('.', '\\.')),
  'a.b',
  'a.b.b',
  'a.0',
  'a.a',
  'plan.a',
  '__proto__.__proto__',
  'b.b',
  'nothing',
  'nothing.at.all',
]
const window = fc.record({
  value: fc.constantFrom(0, 1, 7, 30, 60, 1440),
  unit: fc.constantFrom('minutes', 'hours', 'days'),
})
const comparison = fc.constantFrom('greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual')
const equality = fc.constantFrom('equals', 'notEquals')
const containment = fc.constantFrom('contains', 'notContains')
const recency = fc.constantFrom('within', 'olderThan')

const filterOn = (field: fc.Arbitrary<string>, rest: fc.Arbitrary<object>): fc.Arbitrary<Body> =>
  fc.tuple(field, rest).map(([name, other]) => ({ field: name, ...other }))
const asking = (operator: fc.Arbitrary<string>, asked: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.record({ operator, value: asked })
const during = (operator: fc.Arbitrary<string>): fc.Arbitrary<object> =>
  fc.tuple(operator, window).map(([name, length]) => ({ operator: name, ...length }))

const looksLikeDate = (some: unknown) => typeof some === 'string' && /^\d{4}-\d\d-\d\d([T ]|$)/.test(some)
const ordered = fc.oneof(
  date,
  number,
  text.filter((some) => !looksLikeDate(some)),
)

const dataFilter = filterOn(
  fc
    .oneof(fc.constantFrom(...PATHS), {
      weight: 2,
      arbitrary: fc.constantFrom('plan', 'age', 'born', 'tags', 'vip'),
    })
    .map((path) => `data.${path}`),
  fc.oneof(
    { weight: 4, arbitrary: asking(equality, fc.oneof(text, number, fc.boolean())) },
    {
      weight: 2,
      arbitrary: asking(
        containment,
        fc.oneof(
          text.filter((some) => some !== ''),
          number,
        ),
      ),
    },
    { weight: 4, arbitrary: asking(comparison, ordered) },
    { weight: 2, arbitrary: during(recency) },
    asking(fc.constantFrom('exists', 'notExists'), fc.constant(undefined)),
  ),
)
const emailFilter = filterOn(
  fc.constant('email'),
  fc.oneof(
    asking(
      equality,
      fc.constantFrom('ada-1@example.org', 'ADA-1@Example.org', 'nobody', 'bob%-2@example.org'),
    ),
    asking(containment, fc.constantFrom('A', '%', '_', '\\', '-1', '@EXAMPLE', 'xy', 'ß', "'")),
  ),
)
const timeFilter = filterOn(
  fc.constantFrom('createdAt', 'updatedAt'),
  fc.oneof(asking(equality, date), asking(comparison, date), during(recency)),
)
const eventFilter = filterOn(
  fc.oneof(
    fc.constantFrom(...EVENTS, ...OTHER_EVENTS, 'never').map((name) => `event.${name}`),
    fc
      .constantFrom('sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained')
      .map((activity) => `email.${activity}`),
  ),
  fc.oneof(
    asking(fc.constantFrom('triggered', 'notTriggered'), fc.constant(undefined)),
    during(fc.constantFrom('triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin')),
  ),
)
const segmentFilter = (ids: string[]) =>
  filterOn(
    fc.constantFrom(...ids).map((id) => `segment.${id}`),
    asking(fc.constantFrom('memberOfSegment', 'notMemberOfSegment'), fc.constant(undefined)),
  )

/** A tree of every kind of filter that may ask for the given segments. */
export function treeWith(segments: string[]): fc.Arbitrary<Body> {
  const filter = fc.oneof(
    { weight: 8, arbitrary: dataFilter },
    { weight: 2, arbitrary: emailFilter },
    { weight: 1, arbitrary: filterOn(fc.constant('subscribed'), asking(equality, fc.boolean())) },
    { weight: 2, arbitrary: timeFilter },
    { weight: 4, arbitrary: eventFilter },
    { weight: 2, arbitrary: segmentFilter(segments) },
  )
  const logic = fc.constantFrom('AND', 'OR')
  const filters = fc.array(filter, { minLength: 1, maxLength: 3 })
  const { tree } = fc.letrec<{ tree: Body; group: Body }>((tie) => ({
    tree: fc.record({ logic, groups: fc.array(tie('group'), { minLength: 1, maxLength: 3 }) }),
    group: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.record({ filters }),
      fc.record({
        filters: fc.oneof(fc.constant([]), filters),
        conditions: tie('tree'),
      }),
    ),
  }))
  const single = filter.map((one) => ({ logic: 'AND', groups: [{ filters: [one] }] }))
  return fc.oneof(single, { weight: 2, arbitrary: tree.filter((made) => countFilters(made) <= 60) })
}

export const countFilters = (tree: Body): number =>
  tree.groups
    .map((group: Body) => group.filters.length + (group.conditions ? countFilters(group.conditions) : 0))
    .reduce((sum: number, count: number) => sum + count, 0)
