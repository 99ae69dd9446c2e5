import * as assert from 'uvu/assert'
import { unpreparedStatement, valuesOf } from '../../src/db/sql.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const compiled = (source: string) => {
  const { text, names } = unpreparedStatement(source)
  return { text, names }
}

scenario('The parameters of a statement', nothingShared, (test) => {
  test('get places in the order in which they are named, one for each name', () => {
    assert.equal(compiled('select :a::int + :bC, :a, array[:a2,:bC]::text[]'), {
      text: 'select $1::int + $2, $1, array[$3,$2]::text[]',
      names: ['a', 'bC', 'a2'],
    })
    assert.equal(compiled('select 1'), { text: 'select 1', names: [] })
  })

  test('are no casts, slices, texts, quoted names or comments', () => {
    for (const source of [
      `select '{}'::text[], (a)::int, "b"::text, 1::text`,
      'select list[1:2], list[a:b], list[a:], (list)[1][a:b]',
      `select ':a', ' it''s :a', '"' || ':a"', E'\\n:a', '--' || ':a'`,
      'select 1 as ":a"',
      `select 1 -- isn't :a
       , 2 /* isn't
       :a */`,
    ]) {
      assert.equal(compiled(source), { text: source, names: [] })
    }
    assert.equal(compiled(`select 'it''s', :a -- :b\n, "c:d", :e`), {
      text: `select 'it''s', $1 -- :b\n, "c:d", $2`,
      names: ['a', 'e'],
    })
  })

  test('are taken by their names; one that is missing is no null', () => {
    const query = unpreparedStatement('select :b, :a, :b')
    assert.equal(valuesOf(query, { a: null, b: 0, c: 3 }), [0, null])
    assert.throws(() => valuesOf(query, { a: 1 }), /:b is not given: select \$1, \$2, \$1/)
    assert.throws(() => valuesOf(query, { a: undefined, b: 1 }), /:a is not given/)
  })
})
