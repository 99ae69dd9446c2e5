import * as assert from 'uvu/assert'
import { parseFilter, parseTree } from '../../src/audience/parsing/parse.ts'
import { toJson } from '../../src/audience/tree.rules.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { errorsOf, problemsOf, treeOf } from './ask.ts'

const refusalsOf = (json: unknown) => problemsOf(() => parseTree(json, 'condition'))

const plan = { field: 'data.plan', operator: 'equals', value: 'pro' }
const group = { filters: [plan] }

const TREES: [what: string, json: unknown, problems: [string, string][]][] = [
  ['nothing', undefined, [['condition', 'required']]],
  ['null', null, [['condition', 'invalid_type']]],
  ['a list', [], [['condition', 'invalid_type']]],
  ['a text', 'AND', [['condition', 'invalid_type']]],
  [
    'an empty object',
    {},
    [
      ['condition.logic', 'required'],
      ['condition.groups', 'required'],
    ],
  ],
  ['no logic', { groups: [group] }, [['condition.logic', 'required']]],
  ['logic in lower case', { logic: 'and', groups: [group] }, [['condition.logic', 'invalid_enum_value']]],
  ['logic that is null', { logic: null, groups: [group] }, [['condition.logic', 'invalid_type']]],
  ['no groups', { logic: 'AND', groups: [] }, [['condition.groups', 'too_small']]],
  ['groups that are an object', { logic: 'AND', groups: {} }, [['condition.groups', 'invalid_type']]],
  ['a group that is null', { logic: 'AND', groups: [null] }, [['condition.groups.0', 'invalid_type']]],
  ['an empty group', { logic: 'AND', groups: [{}] }, [['condition.groups.0.filters', 'required']]],
  [
    'no filters',
    { logic: 'AND', groups: [group, { filters: [] }] },
    [['condition.groups.1.filters', 'too_small']],
  ],
  [
    'filters that are a text',
    { logic: 'OR', groups: [{ filters: 'x' }] },
    [['condition.groups.0.filters', 'invalid_type']],
  ],
  [
    'a filter that is a list',
    { logic: 'OR', groups: [{ filters: [plan, []] }] },
    [['condition.groups.0.filters.1', 'invalid_type']],
  ],
  [
    'bad nested conditions',
    { logic: 'AND', groups: [{ filters: [], conditions: { logic: 'XOR', groups: [{ filters: [{}] }] } }] },
    [
      ['condition.groups.0.conditions.logic', 'invalid_enum_value'],
      ['condition.groups.0.conditions.groups.0.filters.0.field', 'required'],
      ['condition.groups.0.conditions.groups.0.filters.0.operator', 'required'],
    ],
  ],
  [
    'conditions that are a list',
    { logic: 'AND', groups: [{ filters: [plan], conditions: [] }] },
    [['condition.groups.0.conditions', 'invalid_type']],
  ],
  [
    'inherited parts',
    Object.create({ logic: 'AND', groups: [group] }),
    [
      ['condition.logic', 'required'],
      ['condition.groups', 'required'],
    ],
  ],
]

const within = (value: unknown, unit: unknown = 'days') => ({
  field: 'createdAt',
  operator: 'within',
  value,
  unit,
})
const data = (operator: string, value?: unknown, unit?: unknown) => ({
  field: 'data.x',
  operator,
  value,
  unit,
})

const FILTERS: [what: string, filter: object, problems: [string, string][]][] = [
  ['no field', { operator: 'equals', value: 1 }, [['field', 'required']]],
  ['a field that is a number', { ...plan, field: 5 }, [['field', 'invalid_type']]],
  ['an unknown field', { ...plan, field: 'plan' }, [['field', 'invalid_enum_value']]],
  ['an empty field', { ...plan, field: '' }, [['field', 'invalid_enum_value']]],
  ['a field that objects inherit', { ...plan, field: 'constructor' }, [['field', 'invalid_enum_value']]],
  ['a field in another case', { ...plan, field: 'Email' }, [['field', 'invalid_enum_value']]],
  ['data without a path', { ...plan, field: 'data.' }, [['field', 'invalid_string']]],
  ['a path with an empty part', { ...plan, field: 'data.a..b' }, [['field', 'invalid_string']]],
  ['a path that ends in a dot', { ...plan, field: 'data.a.' }, [['field', 'invalid_string']]],
  ['a path of 11 parts', { ...plan, field: `data${'.a'.repeat(11)}` }, [['field', 'too_big']]],
  ['a path of 256 characters', { ...plan, field: `data.${'a'.repeat(256)}` }, [['field', 'too_big']]],
  ['a path with a NUL', { ...plan, field: 'data.a\0' }, [['field', 'invalid_string']]],
  ['a path with half a character', { ...plan, field: 'data.\ud800' }, [['field', 'invalid_string']]],
  ['an event without a name', { field: 'event.', operator: 'triggered' }, [['field', 'invalid_string']]],
  [
    'an event name of 256 characters',
    { field: `event.${'e'.repeat(256)}`, operator: 'triggered' },
    [['field', 'too_big']],
  ],
  ['an unknown activity', { field: 'email.open', operator: 'triggered' }, [['field', 'invalid_enum_value']]],
  ['a segment without a UUID', { field: 'segment.vip', operator: 'memberOfSegment' }, [['field', 'custom']]],
  ['no operator', { field: 'email', value: 'x' }, [['operator', 'required']]],
  [
    'an unknown operator',
    { field: 'email', operator: 'is', value: 'x' },
    [['operator', 'invalid_enum_value']],
  ],
  [
    'an operator in lower case',
    { field: 'createdAt', operator: 'greaterthan', value: '2026-01-01' },
    [['operator', 'invalid_enum_value']],
  ],
  [
    'an operator that objects inherit',
    { field: 'email', operator: 'toString', value: 'x' },
    [['operator', 'invalid_enum_value']],
  ],
  [
    'an operator that is null',
    { field: 'email', operator: null, value: 'x' },
    [['operator', 'invalid_type']],
  ],
  [
    'email greaterThan',
    { field: 'email', operator: 'greaterThan', value: 'x' },
    [['operator', 'invalid_enum_value']],
  ],
  ['email exists', { field: 'email', operator: 'exists' }, [['operator', 'invalid_enum_value']]],
  [
    'subscribed contains',
    { field: 'subscribed', operator: 'contains', value: 'x' },
    [['operator', 'invalid_enum_value']],
  ],
  [
    'createdAt contains',
    { field: 'createdAt', operator: 'contains', value: '2026' },
    [['operator', 'invalid_enum_value']],
  ],
  ['data triggered', data('triggered'), [['operator', 'invalid_enum_value']]],
  [
    'event equals',
    { field: 'event.x', operator: 'equals', value: 'x' },
    [['operator', 'invalid_enum_value']],
  ],
  [
    'segment equals',
    { field: 'segment.019a0000-0000-7000-8000-000000000000', operator: 'equals', value: 1 },
    [['operator', 'invalid_enum_value']],
  ],
  ['no value', data('equals'), [['value', 'required']]],
  ['a value that is null', data('equals', null), [['value', 'invalid_type']]],
  ['a value that is an object', data('equals', {}), [['value', 'invalid_type']]],
  ['a value that is a list', data('notEquals', ['a']), [['value', 'invalid_type']]],
  ['a value that is infinite', data('equals', Number.POSITIVE_INFINITY), [['value', 'invalid_type']]],
  ['a value of 1,001 characters', data('equals', 'x'.repeat(1_001)), [['value', 'too_big']]],
  ['a value with a NUL', data('contains', 'a\0b'), [['value', 'invalid_string']]],
  ['a value with half a character', data('equals', '\udc00'), [['value', 'invalid_string']]],
  ['contains nothing', data('contains', ''), [['value', 'too_small']]],
  ['contains true', data('contains', true), [['value', 'invalid_type']]],
  ['data greaterThan true', data('greaterThan', true), [['value', 'invalid_type']]],
  [
    'data greaterThan a day that does not exist',
    data('greaterThan', '2026-02-31'),
    [['value', 'invalid_date']],
  ],
  ['email equals a number', { field: 'email', operator: 'equals', value: 5 }, [['value', 'invalid_type']]],
  [
    'email contains nothing',
    { field: 'email', operator: 'notContains', value: '' },
    [['value', 'too_small']],
  ],
  [
    'subscribed equals yes',
    { field: 'subscribed', operator: 'equals', value: 'yes' },
    [['value', 'invalid_type']],
  ],
  [
    'subscribed equals 1',
    { field: 'subscribed', operator: 'notEquals', value: 1 },
    [['value', 'invalid_type']],
  ],
  [
    'createdAt equals a word',
    { field: 'createdAt', operator: 'equals', value: 'today' },
    [['value', 'invalid_date']],
  ],
  [
    'createdAt equals a number',
    { field: 'createdAt', operator: 'equals', value: 1772582400000 },
    [['value', 'invalid_type']],
  ],
  [
    'createdAt greaterThan a day that does not exist',
    { field: 'createdAt', operator: 'greaterThan', value: '2026-02-29' },
    [['value', 'invalid_date']],
  ],
  [
    'createdAt lessThan a year',
    { field: 'createdAt', operator: 'lessThan', value: '2026' },
    [['value', 'invalid_date']],
  ],
  ['a window without a value', within(undefined), [['value', 'required']]],
  ['a window without a unit', { field: 'createdAt', operator: 'within', value: 7 }, [['unit', 'required']]],
  [
    'a window without either',
    { field: 'updatedAt', operator: 'within' },
    [
      ['value', 'required'],
      ['unit', 'required'],
    ],
  ],
  ['a negative window', within(-1), [['value', 'too_small']]],
  ['a fractional window', within(1.5), [['value', 'invalid_type']]],
  ['a textual window', within('7'), [['value', 'invalid_type']]],
  ['a window of more than a century', within(36_501), [['value', 'too_big']]],
  ['a window of an endless number', within(1e300), [['value', 'too_big']]],
  ['a window of weeks', within(1, 'weeks'), [['unit', 'invalid_enum_value']]],
  ['a window with a unit in upper case', within(1, 'DAYS'), [['unit', 'invalid_enum_value']]],
  ['a window with a unit that is null', within(1, null), [['unit', 'invalid_type']]],
  ['data olderThan a text', data('olderThan', '2026-01-01', 'days'), [['value', 'invalid_type']]],
  [
    'triggeredWithin without a unit',
    { field: 'event.x', operator: 'triggeredWithin', value: 7 },
    [['unit', 'required']],
  ],
  [
    'notTriggeredWithin without a value',
    { field: 'email.opened', operator: 'notTriggeredWithin', unit: 'days' },
    [['value', 'required']],
  ],
  [
    'triggeredOlderThan a negative window',
    { field: 'email.opened', operator: 'triggeredOlderThan', value: -5, unit: 'days' },
    [['value', 'too_small']],
  ],
]

scenario('A filter tree', nothingShared, (test) => {
  for (const [what, json, problems] of TREES) {
    test(`cannot be ${what}`, () => assert.equal(refusalsOf(json), problems))
  }

  for (const [what, filter, problems] of FILTERS) {
    test(`cannot have a filter with ${what}`, () => {
      const at = (prefix: string) => problems.map(([part, code]) => [`${prefix}.${part}`, code])
      assert.equal(refusalsOf(treeOf(plan, filter)), at('condition.groups.0.filters.1'))
      assert.equal(
        problemsOf(() => parseFilter(filter, 'config')),
        at('config'),
      )
    })
  }

  test('says everything that is wrong at once, and the type that came', () => {
    const bad = { field: 'subscribed', operator: 'equals', value: 'yes' }
    const found = errorsOf(() => parseTree(treeOf(plan, bad, { field: 'x', operator: 'y' }), 'audience'))
    assert.equal(
      found.map(({ field, code, received }) => [field, code, received]),
      [
        ['audience.groups.0.filters.1.value', 'invalid_type', 'string'],
        ['audience.groups.0.filters.2.field', 'invalid_enum_value', 'string'],
        ['audience.groups.0.filters.2.operator', 'invalid_enum_value', 'string'],
      ],
    )
    assert.is(found[0]?.message, 'must be true or false')
    assert.match(found[1]?.message ?? '', 'email, subscribed, createdAt, updatedAt, data.<path>')
  })

  test('is kept as it was given, without what is unknown or has no use', () => {
    const json = {
      logic: 'OR',
      id: 'root',
      groups: [
        { filters: [{ ...plan, unit: 'days', color: 'red' }], open: true, conditions: null },
        {
          filters: [{ field: 'data.x', operator: 'exists', value: 5 }],
          conditions: { logic: 'AND', groups: [{ filters: [within(0, 'minutes')] }] },
        },
      ],
    }
    const kept = {
      logic: 'OR',
      groups: [
        { filters: [plan] },
        {
          filters: [{ field: 'data.x', operator: 'exists' }],
          conditions: { logic: 'AND', groups: [{ filters: [within(0, 'minutes')] }] },
        },
      ],
    }
    const tree = parseTree(json, 'condition')
    assert.equal(toJson(tree), kept)
    assert.equal(parseTree(toJson(tree), 'condition'), tree)
  })
})

/** Nested so deep that the filter is on level `depth`. */
function nestedTree(depth: number): unknown {
  let tree: unknown = treeOf(plan)
  for (let level = 1; level < depth; level += 1)
    tree = { logic: 'AND', groups: [{ filters: [], conditions: tree }] }
  return tree
}

const wide = (groups: number, filters: number) => ({
  logic: 'AND',
  groups: Array.from({ length: groups }, () => ({ filters: Array.from({ length: filters }, () => plan) })),
})

/** Calls it a few times, and says how many milliseconds the fastest one took. */
function timed<Result>(call: () => Result): [Result, number] {
  const times: number[] = []
  const once = () => {
    const started = performance.now()
    const result = call()
    times.push(performance.now() - started)
    return result
  }
  once()
  once()
  return [once(), Math.min(...times)]
}

scenario('The size of a filter tree', nothingShared, (test) => {
  test('is at most 10 levels', () => {
    assert.equal(refusalsOf(nestedTree(10)), [])
    assert.equal(refusalsOf(nestedTree(11)), [[`condition${'.groups.0.conditions'.repeat(10)}`, 'too_big']])
  })

  test('is at most 100 filters, however they are spread', () => {
    assert.equal(refusalsOf(wide(1, 100)), [])
    assert.equal(refusalsOf(wide(100, 1)), [])
    assert.equal(refusalsOf(wide(2, 51)), [['condition', 'too_big']])
    assert.equal(refusalsOf(wide(1, 101)), [['condition.groups.0.filters', 'too_big']])
    assert.equal(refusalsOf(wide(101, 1)), [['condition.groups', 'too_big']])
  })

  test('may be 100 filters on the deepest level', () => {
    let tree: unknown = wide(100, 1)
    for (let level = 1; level < 10; level += 1) tree = { logic: 'OR', groups: [{ conditions: tree }] }
    assert.equal(refusalsOf(tree), [])
  })

  const HUGE: [what: string, make: () => unknown][] = [
    ['100,000 levels', () => nestedTree(100_000)],
    ['a million groups', () => ({ logic: 'AND', groups: Array.from({ length: 1_000_000 }, () => ({})) })],
    ['a million filters', () => wide(1, 1_000_000)],
    ['a field of a megabyte', () => treeOf({ ...plan, field: `data.${'a.'.repeat(500_000)}` })],
    [
      'a field of a megabyte of backslashes',
      () => treeOf({ ...plan, field: `data.${'\\'.repeat(1_000_000)}` }),
    ],
    ['a value of a megabyte', () => treeOf({ ...plan, value: '2'.repeat(1_000_000) })],
    [
      'a date of a megabyte',
      () =>
        treeOf({ ...within(1), operator: 'equals', value: `2026-03-04T10:00:00.${'0'.repeat(1_000_000)}` }),
    ],
    ['an operator of a megabyte', () => treeOf({ ...plan, operator: 'x'.repeat(1_000_000) })],
    [
      'a value that is a deep list',
      () => treeOf({ ...plan, value: JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) }),
    ],
  ]
  for (const [what, make] of HUGE) {
    test(`cannot be ${what}, which is found out at once`, () => {
      const json = make()
      const [problems, milliseconds] = timed(() => refusalsOf(json))
      assert.ok(problems.length > 0)
      assert.ok(problems.length <= 2)
      assert.ok(milliseconds < 50, `${milliseconds} ms`)
    })
  }

  test('cannot be made of groups that multiply', () => {
    let tree: unknown = treeOf(plan)
    for (let level = 1; level < 9; level += 1) {
      const inner = tree
      tree = { logic: 'OR', groups: Array.from({ length: 100 }, () => ({ conditions: inner })) }
    }
    const [problems, milliseconds] = timed(() => refusalsOf(tree))
    assert.equal(problems, [['condition', 'too_big']])
    assert.ok(milliseconds < 100, `${milliseconds} ms`)
  })
})
