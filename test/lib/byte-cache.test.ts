import * as assert from 'uvu/assert'
import { ByteCache } from '../../src/lib/byte-cache.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('A cache of 100 bytes', nothingShared, (test) => {
  test('forgets what was asked for longest ago when there is no room', () => {
    const cache = new ByteCache<string>(100)
    for (const key of ['a', 'b', 'c']) cache.set(key, key.toUpperCase(), 30)
    assert.is(cache.get('a'), 'A')
    cache.set('d', 'D', 30)
    assert.equal(
      ['a', 'b', 'c', 'd'].map((key) => cache.get(key)),
      ['A', undefined, 'C', 'D'],
    )
    cache.set('e', 'E', 70)
    assert.equal(
      ['a', 'c', 'd', 'e'].map((key) => cache.get(key)),
      [undefined, undefined, 'D', 'E'],
    )
  })

  test('keeps nothing that is larger, and counts what is replaced once', () => {
    const cache = new ByteCache<number>(100)
    cache.set('small', 1, 40)
    cache.set('large', 2, 101)
    assert.is(cache.get('large'), undefined)
    for (let value = 0; value < 10; value += 1) cache.set('again', value, 60)
    assert.equal([cache.get('small'), cache.get('again')], [1, 9])
  })
})
