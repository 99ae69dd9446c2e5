import * as assert from 'uvu/assert'
import { Slots, type SlotsOptions } from '../../src/lib/async/slots.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

/** Lets everything that may go on now go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Slots with the names of those who have been let in, in their order, and how each of them leaves. */
function entrance(size: number, options: SlotsOptions = {}) {
  const slots = new Slots(size, options)
  const entered: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = async (name: string, { owner = name, size: own = 1, urgent = false } = {}) => {
    const leave = await slots.take(own, owner, { urgent })
    leaves.set(name, leave)
    entered.push(name)
  }
  const leave = async (...names: string[]) => {
    for (const name of names) leaves.get(name)?.()
    await settle()
  }
  return { entered, enter, leave }
}

scenario('Slots', nothingShared, (test) => {
  test('hand out no more than there is, in the order in which it is asked for', async () => {
    const { entered, enter, leave } = entrance(2)
    for (const name of ['a', 'b', 'c', 'd']) void enter(name)
    await settle()
    assert.equal(entered, ['a', 'b'])
    await leave('a')
    assert.equal(entered, ['a', 'b', 'c'])
    await leave('b')
    assert.equal(entered, ['a', 'b', 'c', 'd'])
  })

  test('let urgent requests go first, these in their order as well', async () => {
    const { entered, enter, leave } = entrance(1)
    for (const name of ['a', 'b']) void enter(name)
    for (const name of ['urgent1', 'urgent2']) void enter(name, { urgent: true })
    await settle()
    await leave('a')
    await leave('urgent1')
    await leave('urgent2')
    assert.equal(entered, ['a', 'urgent1', 'urgent2', 'b'])
  })

  test('let owners take turns, however much one of them asks for', async () => {
    const { entered, enter, leave } = entrance(1)
    for (let index = 0; index < 5; index += 1) void enter(`busy${index}`, { owner: 'busy' })
    void enter('other')
    await settle()
    await leave('busy0')
    await leave('busy1')
    assert.equal(entered, ['busy0', 'busy1', 'other'])
  })

  test('let others than urgent ones have less, but always one', async () => {
    let least = 2
    const { entered, enter, leave } = entrance(4, { beforeOthers: () => least })
    for (const name of ['a', 'b', 'c']) void enter(name)
    await settle()
    assert.equal(entered, ['a', 'b'])
    void enter('urgent', { urgent: true })
    await settle()
    assert.equal(entered, ['a', 'b', 'urgent'])
    least = 0
    await leave('a', 'b')
    assert.equal(entered, ['a', 'b', 'urgent'])
    await leave('urgent')
    assert.equal(entered, ['a', 'b', 'urgent', 'c'])
  })

  test('leave room beside an owner who asks for all', async () => {
    const { entered, enter, leave } = entrance(5, { perOwner: 4 })
    for (let index = 0; index < 8; index += 1) void enter(`busy${index}`, { owner: 'busy' })
    void enter('other')
    await settle()
    assert.equal(entered, ['busy0', 'busy1', 'busy2', 'busy3', 'other'])
    await leave('busy0')
    assert.is(entered.at(-1), 'busy4')
  })

  test('let small ones pass what has no room yet, and what is larger than all of them go alone', async () => {
    const { entered, enter, leave } = entrance(10)
    void enter('first', { size: 6 })
    void enter('huge', { size: 100 })
    void enter('small', { size: 2 })
    await settle()
    assert.equal(entered, ['first', 'small'])
    await leave('first', 'small')
    void enter('late')
    await settle()
    assert.equal(entered, ['first', 'small', 'huge'])
    await leave('huge')
    assert.is(entered.at(-1), 'late')
  })

  test('are given back once, however often it is said', async () => {
    const { entered, enter, leave } = entrance(1)
    for (const name of ['a', 'b', 'c']) void enter(name)
    await settle()
    await leave('a', 'a')
    assert.equal(entered, ['a', 'b'])
  })
})
