import * as assert from 'uvu/assert'
import { sizeInWords, timeAgo } from '../../src/lib/text/in-words.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('Words for people', nothingShared, (test) => {
  test('say how long ago something happened', () => {
    const now = new Date('2026-11-22T12:00:00Z')
    for (const [seconds, words] of [
      [-5, 'just now'],
      [0, 'just now'],
      [59, 'just now'],
      [60, '1 minute ago'],
      [3_599, '59 minutes ago'],
      [7_200, '2 hours ago'],
      [86_400, '1 day ago'],
      [40 * 86_400, '40 days ago'],
    ] as const) {
      assert.is(timeAgo(new Date(now.getTime() - seconds * 1000), now), words)
    }
  })

  test('say how large something is', () => {
    for (const [bytes, words] of [
      [0, '0 bytes'],
      [1023, '1023 bytes'],
      [1024, '1 KB'],
      [1_500_000, '1.4 MB'],
    ] as const) {
      assert.is(sizeInWords(bytes), words)
    }
  })
})
