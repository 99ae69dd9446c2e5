import * as assert from 'uvu/assert'
import { compileTree, type PredicateParams } from '../../src/audience/compile.sql.ts'
import { dataField } from '../../src/audience/fields.rules.ts'
import { statement, unpreparedStatement, valuesOf } from '../../src/db/sql.ts'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { NOW } from './arbitrary.ts'
import { idsOf, parsed, predicateOf, problemsOf, treeOf, whoMatches, worldOf } from './ask.ts'
import { oddlySetPool } from './people.ts'

/** Texts that mean something to SQL, JSON, jsonpath, LIKE, regular expressions or JavaScript. */
const TEXTS = [
  `'; drop table contacts; --`,
  `"`,
  `'`,
  `''`,
  '\\',
  '\\\\',
  `\\'`,
  '$1',
  '$1::uuid',
  '%',
  '_',
  '%_%',
  '.*',
  '$.a ? (@ == "x")',
  'strict $',
  '{a,b}',
  '{"a":1}',
  '[0]',
  '->>',
  '@>',
  '?',
  'null',
  'NaN',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'a b',
  'a.b',
  'a\\.b',
  '.',
  '\n',
  '\u2028',
  '\u{1F600}',
  '/*',
  '--',
  'E\\x27',
  "U&'\\0027'",
  '{{x}}',
]

const person = (text: string) => ({
  dataText: JSON.stringify(
    Object.fromEntries([
      [text, text],
      ['text', text],
      ['list', [text]],
    ]),
  ),
  events: [{ name: text, at: NOW, data: {} }],
})

const start = () =>
  worldOf({ nobody: {}, ...Object.fromEntries(TEXTS.map((text, index) => [`p${index}`, person(text)])) })

type Asked = { projectId: string; id: string; limit: number }

scenario('Hostile texts in filters', start, (test) => {
  for (const [index, text] of TEXTS.entries()) {
    const name = JSON.stringify(text)
    const field = dataField([text])

    test(`${name} is a value`, async (world) => {
      const equal = { field: 'data.text', operator: 'equals', value: text }
      assert.equal(await whoMatches(world, treeOf(equal)), [`p${index}`])
      const element = { field: 'data.list', operator: 'contains', value: text }
      assert.equal(await whoMatches(world, treeOf(element)), [`p${index}`])
      const part = { field: 'data.text', operator: 'contains', value: text }
      const having = TEXTS.flatMap((other, at) => (other.includes(text) ? [`p${at}`] : []))
      assert.equal(await whoMatches(world, treeOf(part)), having.toSorted())
      const order = { field: 'data.text', operator: 'lessThan', value: text }
      const below = TEXTS.flatMap((other, at) =>
        Buffer.compare(Buffer.from(other), Buffer.from(text)) < 0 ? [`p${at}`] : [],
      )
      assert.equal(await whoMatches(world, treeOf(order)), below.toSorted())
    })

    test(`${name} is a key`, async (world) => {
      const exists = { field, operator: 'exists' }
      assert.equal(await whoMatches(world, treeOf(exists)), [`p${index}`])
      assert.equal(await whoMatches(world, treeOf({ field, operator: 'equals', value: text })), [`p${index}`])
      assert.equal(await whoMatches(world, treeOf({ field, operator: 'contains', value: text })), [
        `p${index}`,
      ])
    })

    test(`${name} is the name of an event`, async (world) => {
      const triggered = { field: `event.${text}`, operator: 'triggered' }
      assert.equal(await whoMatches(world, treeOf(triggered)), [`p${index}`])
    })

    test(`${name} is a part of no address`, async (world) => {
      const asked = treeOf({ field: 'email', operator: 'contains', value: `x${text}` })
      assert.equal(await whoMatches(world, asked), [])
    })

    test(`${name} is not a field, an operator or a unit`, () => {
      const filter = { field: 'createdAt', operator: 'within', value: 1, unit: 'days' }
      for (const part of ['field', 'operator', 'unit']) {
        const [problem] = problemsOf(() => parsed(treeOf({ ...filter, [part]: text })))
        assert.equal(problem, [`condition.groups.0.filters.0.${part}`, 'invalid_enum_value'])
      }
    })
  }

  test('are parameters: the statement is the same whatever they are', () => {
    const textFor = (text: string) =>
      predicateOf(
        treeOf(
          { field: dataField([text]), operator: 'equals', value: text },
          { field: dataField([text]), operator: 'contains', value: text },
          { field: dataField(['a', text]), operator: 'greaterThan', value: `x${text}` },
          { field: `event.${text}`, operator: 'triggered' },
          { field: 'email', operator: 'notContains', value: text },
        ),
      ).text
    assert.is(new Set(TEXTS.map(textFor)).size, 1)
  })
})

/** Data that casts, operators and functions of Postgres fail on, or that JSON can hold and JavaScript cannot. */
const DATA = [
  '"abc"',
  '1e400',
  '-1e400',
  '1e-400',
  `${'9'.repeat(1_000)}`,
  '{}',
  '[]',
  'null',
  'true',
  '""',
  '"1e400"',
  '"NaN"',
  '"Infinity"',
  '"infinity"',
  '"-infinity"',
  '"now"',
  '"2026-02-31"',
  '"2026-02-29T00:00:00Z"',
  '"0000-01-01"',
  '"0000-02-29"',
  '"2026-04-31T10:00:00Z"',
  '"2026-12-31T23:59:60Z"',
  '"2026-12-31T24:00:00Z"',
  '"2026-12-31T23:59:59+25:00"',
  '"2026-12-31T23:59:59+15:59"',
  '"2026-12-31T23:59:59 Mars/Phobos"',
  '"99999-12-31T00:00:00Z"',
  '"٢٠٢٦-٠٣-٠٤"',
  '"2026-03-04T10:00:00.1234567890Z"',
  '"2026-03-04\\nT10:00:00Z"',
  '"4714-11-24 BC"',
  '{"x":{"x":1e400}}',
  '[["2026-02-31"]]',
  '{"":1}',
  `"${'2026-03-04T10:00:00.'}${'0'.repeat(30_000)}Z"`,
]

const VALUES = [5, -1e308, 'abc', '', 'NaN', '2026-03-04', '2026-03-04T10:00:00Z', '0001-01-01', '9999-12-31']
const COMPARING = ['equals', 'notEquals', 'greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual']

scenario(
  'Hostile data of contacts',
  async () => {
    const world = await worldOf(
      Object.fromEntries(DATA.map((value, index) => [`p${index}`, { dataText: `{"x":${value}}` }])),
    )
    const pool = oddlySetPool(world)
    const stop = async () => {
      await pool.end()
      await world.stop()
    }
    return { ...world, pool, stop }
  },
  (test) => {
    test('never makes a statement fail', async (world) => {
      const filters = COMPARING.flatMap((operator) => VALUES.map((value) => ({ operator, value })))
      const windows = ['within', 'olderThan'].map((operator) => ({ operator, value: 36_500, unit: 'days' }))
      const parts = ['x', '5', '%'].map((value) => ({ operator: 'contains', value }))
      for (const field of ['data.x', 'data.x.x', 'data.x.0']) {
        for (const filter of [...filters, ...windows, ...parts, { operator: 'exists' }]) {
          const asked = { field, ...filter }
          const { text, params } = predicateOf(treeOf(asked))
          for (const query of [
            unpreparedStatement(`select from contacts c where ${text}`),
            unpreparedStatement(`select from contacts c where not ${text}`),
          ]) {
            await world.pool.query(query.text, valuesOf(query, { ...params, projectId: world.project.id }))
          }
        }
      }
    })

    test('that is no date is neither before nor after any', async (world) => {
      const before = { field: 'data.x', operator: 'lessThan', value: '9999-12-31' }
      assert.equal(await whoMatches(world, treeOf(before)), [])
      const after = { field: 'data.x', operator: 'greaterThanOrEqual', value: '0001-01-01' }
      assert.equal(await whoMatches(world, treeOf(after)), [])
    })

    test('that is a number of any size compares with numbers', async (world) => {
      const at = (value: string) => `p${DATA.indexOf(value)}`
      const above = { field: 'data.x', operator: 'greaterThan', value: 1e308 }
      assert.equal(await whoMatches(world, treeOf(above)), [at('1e400'), at('9'.repeat(1_000))].toSorted())
      const below = { field: 'data.x', operator: 'lessThan', value: -1e308 }
      assert.equal(await whoMatches(world, treeOf(below)), [at('-1e400')])
    })
  },
)

scenario(
  'A compiled tree',
  () => startService({ ROLES: 'http' }),
  (test) => {
    const everything = treeOf(
      { field: 'subscribed', operator: 'equals', value: true },
      { field: 'email', operator: 'contains', value: 'a' },
      { field: 'createdAt', operator: 'within', value: 1, unit: 'days' },
      { field: 'data.n', operator: 'greaterThan', value: 4.5 },
      { field: 'data.n', operator: 'lessThan', value: 1e21 },
      { field: 'data.s', operator: 'equals', value: 'x' },
      { field: 'data.s', operator: 'greaterThan', value: 'a' },
      { field: 'data.d', operator: 'equals', value: '2026-03-04' },
      { field: 'data.l', operator: 'contains', value: 5 },
      { field: 'event.never', operator: 'notTriggered' },
    )

    test('runs on the pool and inside a transaction, and after other parameters', async (service) => {
      const { project } = service
      const id = '019a0000-0000-7000-8000-000000000001'
      await service.sql(
        `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       values ($1, $2, 'ada@example.org', true, '{"n":5,"s":"x","d":"2026-03-04","l":[5]}', $3, $3)`,
        [project.id, id, NOW],
      )
      const predicate = predicateOf(everything)
      assert.equal(await idsOf(service, predicate), [id])
      const query = statement<Asked & PredicateParams, { id: string }>(
        'test-compiled',
        `select c.id from contacts c where c.id >= :id::uuid and ${predicate.text} limit :limit::int`,
      )
      const params = { projectId: project.id, id, limit: 5, ...predicate.params }
      const ctx = service.ctx(project.id)
      assert.equal(await ctx.sql(query, params), [{ id }])
      assert.equal(await ctx.atomically((inside) => inside.sql(query, params)), [{ id }])
    })

    test('sees nothing of another project', async (service) => {
      const other = await service.newProject()
      assert.equal(await idsOf(service, predicateOf(everything), other.id), [])
    })

    test('cannot ask for segments that were not resolved', () => {
      const tree = parsed(
        treeOf({ field: 'segment.019a0000-0000-7000-8000-000000000000', operator: 'memberOfSegment' }),
      )
      const compile = () => compileTree({ tree, segments: new Map() }, NOW)
      assert.throws(compile, /was not resolved/)
    })
  },
)
