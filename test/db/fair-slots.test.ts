import * as assert from 'uvu/assert'
import { FairSlots } from '../../src/db/fair-slots.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Work whose ends the test decides, and the order in which projects had their turns. */
function workOn(slots: FairSlots) {
  const turns: string[] = []
  const ends: (() => void)[] = []
  const ask = (project: string) =>
    slots
      .run(project, async () => {
        turns.push(project)
        await new Promise<void>((resolve) => ends.push(resolve))
      })
      .catch((error: Error) => void turns.push(`${project}: ${error.name}`))
  return { turns, ask, endFirst: () => ends.shift()?.() }
}

scenario('Fair slots', nothingShared, (test) => {
  test('leave a place for others while one project asks for all of them', async () => {
    const { turns, ask } = workOn(new FairSlots(3, { perProject: 2, waitMs: 10_000 }))
    for (let index = 0; index < 5; index += 1) void ask('busy')
    void ask('other')
    await settle()
    assert.equal(turns, ['busy', 'busy', 'other'])
  })

  test('serve who has not been served for longest, however many others wait', async () => {
    const { turns, ask, endFirst } = workOn(new FairSlots(3, { perProject: 2, waitMs: 10_000 }))
    for (let round = 0; round < 3; round += 1) for (const name of ['a', 'b', 'c', 'd']) void ask(name)
    await settle()
    void ask('rare')
    endFirst()
    await settle()
    endFirst()
    await settle()
    assert.ok(turns.slice(3, 5).includes('rare'), `rare is one of the next two: ${turns.join()}`)
  })

  test('tell a project that it is too busy after a while', async () => {
    const { turns, ask } = workOn(new FairSlots(1, { perProject: 1, waitMs: 20 }))
    void ask('busy')
    await ask('busy')
    assert.equal(turns, ['busy', 'busy: ProjectBusyError'])
  })
})
