import * as assert from 'uvu/assert'
import { Headroom } from '../../src/lib/async/headroom.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

/** Headroom over an event loop that is as busy as told. */
function loop() {
  const time = { now: 0, busy: 0 }
  const headroom = new Headroom({ least: 2, most: 5, measure: () => ({ ...time }) })
  const after = (milliseconds: number, share: number) => {
    time.now += milliseconds
    time.busy += milliseconds * share
    return headroom.allowed
  }
  return { headroom, after }
}

scenario('Headroom', nothingShared, (test) => {
  test('is all at first, one less each time that the loop was always busy, and never too little', () => {
    const { headroom, after } = loop()
    assert.is(headroom.allowed, 5)
    assert.equal(
      [1, 2, 3, 4, 5].map(() => after(100, 1)),
      [4, 3, 2, 2, 2],
    )
  })

  test('grows again when the loop has time left, up to all of it', () => {
    const { after } = loop()
    for (let times = 0; times < 3; times += 1) after(100, 1)
    assert.equal(
      [1, 2, 3, 4].map(() => after(100, 0.5)),
      [3, 4, 5, 5],
    )
  })

  test('stays while the loop is busy and answers', () => {
    const { after } = loop()
    after(100, 1)
    assert.equal([after(100, 0.9), after(100, 0.9)], [4, 4])
  })

  test('is looked at now and then only', () => {
    const { after } = loop()
    assert.equal([after(60, 1), after(30, 1), after(10, 1)], [5, 5, 4])
  })
})
