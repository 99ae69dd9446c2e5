import * as assert from 'uvu/assert'
import { editDistance } from '../../src/lib/text/edit-distance.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('The edit distance', nothingShared, (test) => {
  for (const [a, b, distance] of [
    ['gmail', 'gmail', 0],
    ['gmail', 'gmial', 1],
    ['gmail', 'gmai', 1],
    ['gmail', 'gmaill', 1],
    ['gmail', 'gnail', 1],
    ['gmail', 'yahoo', 5],
    ['gmail', 'gimal', 2],
    ['', 'abc', 3],
    ['ab', '', 2],
    ['', '', 0],
    ['kitten', 'sitting', 3],
  ] as const) {
    test(`of "${a}" and "${b}" is ${distance}, both ways`, () => {
      assert.is(editDistance(a, b), distance)
      assert.is(editDistance(b, a), distance)
    })
  }
})
