import * as assert from 'uvu/assert'
import { hasPart } from '../../src/lib/text/has-part.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { seeded } from '../support/seeded.ts'

scenario('A part of a text', nothingShared, (test) => {
  test('is found where `includes` finds it', () =>
    seeded(async (random) => {
      const word = (length: number) => Array.from({ length }, () => 'aab'[random.between(0, 2)]).join('')
      let found = 0
      for (let run = 0; run < 400; run += 1) {
        // Some are short enough for the other way.
        const text = word(random.between(0, 20)).repeat(random.between(1, 3_000))
        const part =
          random.between(0, 1) === 0 ? text.slice(-random.between(1, 60)) : word(random.between(0, 60))
        found += text.includes(part) ? 1 : 0
        assert.is(hasPart(text, part), text.includes(part), `${text.length} ${part}`)
      }
      assert.ok(found > 100 && found < 390, `${found} are found`)
    }))
})
