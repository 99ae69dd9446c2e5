import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { eraseContacts } from '../../../src/features/contacts/erase-contacts.ts'
import { deleteEventsOf } from '../../../src/features/events/delete-events.ts'
import { HOUR, SECOND } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Project, type Service, startService } from '../../support/service.ts'
import { DAY, eventRows, newContacts, record, recount } from '../events/event-support.ts'
import { assertCounts, countsAgree, newAudience, whileOpen } from './event-counts-support.ts'

const PEOPLE = 4
/** Seconds by which a process's clock is off, and a statement commits late. */
const SKEW = 60
const LATEST = 45

type Step =
  | { do: 'track'; who: number; names: number[]; ahead: number }
  | { do: 'recount'; ahead: number }
  | { do: 'wait'; milliseconds: number }
  | { do: 'erase'; who: number[] }
  | { do: 'delete'; name: number }
  | { do: 'hold'; name: number; seconds: number; meanwhile: 'recount' | 'delete' | 'erase' }

const who = fc.nat(PEOPLE - 1)
const name = fc.nat(3)
const ahead = fc.integer({ min: -SKEW, max: SKEW })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('track' as const),
      who,
      names: fc.array(name, { minLength: 1, maxLength: 6 }),
      ahead,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('recount' as const), ahead }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      milliseconds: fc.oneof(fc.nat(60 * SECOND), fc.nat(DAY), fc.nat(3 * DAY)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase' as const), who: fc.array(who) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('hold' as const),
      name,
      seconds: fc.nat(LATEST),
      meanwhile: fc.constantFrom('recount', 'delete', 'erase'),
    }),
  },
)

/** Before now, in milliseconds: near midnight as well. */
const ago = fc.oneof(fc.nat(80 * SECOND), fc.nat(2 * DAY), fc.nat(8 * DAY))
const range = fc.record({ one: ago, other: ago, days: fc.tuple(fc.boolean(), fc.boolean()) })

type World = { service: Service; project: Project; people: string[]; witness: string }

/** One step; contacts that are erased are made anew. */
async function run(world: World, step: Step): Promise<void> {
  const { service, project, people, witness } = world
  const ctx = service.ctx(project.id)
  const named = (index: number) => `e${index}`
  switch (step.do) {
    case 'track': {
      const at = new Date(service.clock.now().getTime() + step.ahead * SECOND)
      const contactId = people[step.who] ?? witness
      return record(
        service,
        step.names.map((index) => ({ name: named(index), contactId, at })),
        project,
      )
    }
    case 'recount':
      return recount(service, project, step.ahead * SECOND)
    case 'wait':
      return service.clock.advance(step.milliseconds)
    case 'erase': {
      const erased = step.who.map((index) => people[index] ?? witness).filter((id) => id !== witness)
      const gone = await eraseContacts(ctx, erased)
      if (gone.length === 0) return
      const fresh = await newContacts(service, gone.length, project)
      people.splice(0, people.length, ...people.filter((id) => !gone.includes(id)), ...fresh)
      return
    }
    case 'delete':
      await deleteEventsOf(ctx, named(step.name))
      return
    case 'hold': {
      const happened = { name: named(step.name), contactId: witness, at: service.clock.now() }
      return whileOpen(service, async (late) => {
        await late.query(...eventRows([happened], project))
        service.clock.advance(step.seconds * SECOND)
        await run(world, { do: 'recount', ahead: SKEW })
        if (step.meanwhile === 'delete') await run(world, { do: 'delete', name: step.name })
        if (step.meanwhile === 'erase') await run(world, { do: 'erase', who: [0] })
        await late.commit()
      })
    }
  }
}

const text = (instant: number, day: boolean) => new Date(instant).toISOString().slice(0, day ? 10 : undefined)

scenario(
  'Counts of events',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('are those of all events, whatever happens', async (service) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 20 }),
          fc.array(range, { minLength: 3, maxLength: 6 }),
          async (steps, ranges) => {
            const { project, person } = await newAudience(service, PEOPLE + 1)
            const people = Array.from({ length: PEOPLE }, (_, index) => person(index))
            const world = { service, project, people, witness: person(PEOPLE) }
            for (const one of steps) {
              await run(world, one)
              assert.ok(await countsAgree(service, project), `after ${JSON.stringify(one)}`)
            }
            const now = service.clock.now().getTime()
            await assertCounts(
              service,
              project,
              ranges.map(({ one, other, days: [startsWithDay, endsWithDay] }) => ({
                from: text(now - Math.max(one, other), startsWithDay),
                to: text(now - Math.min(one, other), endsWithDay),
              })),
            )
            // Others must not be in the way of the next ones.
            service.clock.advance(HOUR)
          },
        ),
        { numRuns: runs(40) },
      )
    })
  },
)
