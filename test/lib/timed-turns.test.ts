import * as assert from 'uvu/assert'
import { TimedTurns } from '../../src/lib/async/timed-turns.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

/** Lets everything that may go on now go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Places with a clock that is moved, the names of those who work, in their order, and how each of them ends. */
function workshop(places: number, reserved: number) {
  const clock = { ms: 1_000 }
  const turns = new TimedTurns({ places, reserved, now: () => clock.ms })
  const begun: string[] = []
  const ends = new Map<string, (usedMs: number) => void>()
  const ask = async (name: string, owner = name) => {
    void turns.take(owner).then((leave) => {
      begun.push(name)
      ends.set(name, leave)
    })
    await settle()
  }
  const end = async (name: string, usedMs: number) => {
    ends.get(name)?.(usedMs)
    await settle()
  }
  return { clock, begun, ask, end }
}

scenario('Turns by time', nothingShared, (test) => {
  test('give every owner one place at a time, first come, first served', async () => {
    const { begun, ask, end } = workshop(2, 0)
    for (const name of ['a1', 'a2', 'b1', 'c1']) await ask(name, name.slice(0, 1))
    assert.equal(begun, ['a1', 'b1'])
    await end('b1', 0)
    assert.equal(begun, ['a1', 'b1', 'c1'])
    await end('a1', 0)
    assert.equal(begun, ['a1', 'b1', 'c1', 'a2'])
  })

  test('go to who has used the least time', async () => {
    const { begun, ask, end } = workshop(1, 0)
    await ask('a1', 'a')
    await ask('a2', 'a')
    await ask('b1', 'b')
    await end('a1', 1_000)
    await ask('b2', 'b')
    await ask('b3', 'b')
    await end('b1', 20)
    await end('b2', 20)
    assert.equal(begun, ['a1', 'b1', 'b2', 'b3'])
    await ask('b4', 'b')
    await end('b3', 2_000)
    assert.is(begun.at(-1), 'a2')
  })

  test('keep a place from those who have used much lately', async () => {
    const { clock, begun, ask, end } = workshop(3, 1)
    for (const name of ['a', 'b', 'c']) {
      await ask(name)
      await end(name, 1_000)
    }
    const before = begun.length
    for (const name of ['a', 'b', 'c']) await ask(name)
    assert.equal(begun.slice(before), ['a', 'b'])
    await ask('new')
    assert.equal(begun.slice(before), ['a', 'b', 'new'])
    await end('new', 10)
    assert.equal(begun.slice(before), ['a', 'b', 'new'])
    clock.ms += 60_000
    await ask('other')
    await end('other', 10)
    assert.ok(begun.includes('c', before))
  })
})
