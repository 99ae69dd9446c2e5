import * as assert from 'uvu/assert'
import { ByteCache } from '../../src/lib/byte-cache.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('A cache that is bounded in bytes', nothingShared, (test) => {
  test('never holds more than it may, and keeps what was used last', () => {
    const cache = new ByteCache<number>(100)
    for (let key = 0; key < 50; key += 1) {
      cache.set(`${key}`, key, 10)
      assert.ok(cache.bytes <= 100)
      assert.is(cache.get('0'), 0)
    }
    assert.is(cache.get('49'), 49)
    assert.is(cache.get('40'), undefined)
    assert.is(cache.bytes, 100)
  })

  test('does not give up everything for one large value', () => {
    const cache = new ByteCache<number>(100)
    cache.set('small', 1, 10)
    cache.set('large', 2, 26)
    assert.is(cache.get('large'), undefined)
    assert.is(cache.get('small'), 1)
  })

  test('counts a value that replaces another one once', () => {
    const cache = new ByteCache<number>(100)
    for (const value of [1, 2, 3]) cache.set('key', value, 20)
    assert.is(cache.get('key'), 3)
    assert.is(cache.bytes, 20)
  })
})
