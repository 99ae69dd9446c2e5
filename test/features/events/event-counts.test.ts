import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { eraseContacts } from '../../../src/features/contacts/erase-contacts.ts'
import { countEvents } from '../../../src/features/events/count-events.job.ts'
import { countsByName, eventTotal } from '../../../src/features/events/event-counts.sql.ts'
import { firstOpenEvent } from '../../../src/features/events/event-counts.ts'
import { newId } from '../../../src/lib/ids.ts'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService, until } from '../../support/service.ts'
import { assertCounts, countsAgree, newAudience, whileOpen } from './event-counts-support.ts'
import { eventRows, fold, newContacts, record } from './event-support.ts'

const start = () => startService({ ROLES: 'http' })

const HOLD_FOLD = 'update event_folds set first_open = first_open where project_id = $1'

const waiting = async ({ sql }: Service): Promise<number> =>
  (await sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .length

const countedOf = async ({ sql }: Service, { id }: Project): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await sql('select name, count from event_names where project_id = $1 and count <> 0', [id])).map(
      ({ name, count }) => [name, count],
    ),
  )

scenario('Events that are counted', start, (test) => {
  test('are those that are old enough', async (service) => {
    const { project, person } = await newAudience(service)
    const now = service.clock.now().getTime()
    const ages = [0, 30 * SECOND, 44 * SECOND, 46 * SECOND, 2 * MINUTE]
    await record(
      service,
      ages.map((age) => ({ name: 'e', contactId: person(0), at: new Date(now - age) })),
      project,
    )
    await fold(service, project)
    assert.equal(await countedOf(service, project), { e: 2 })
    await assertCounts(service, project)
    service.clock.advance(MINUTE)
    await fold(service, project)
    assert.equal(await countedOf(service, project), { e: 5 })
    await assertCounts(service, project)
  })

  test('are counted once by two at once', async (service) => {
    const { project, person } = await newAudience(service)
    const happened = () =>
      record(
        service,
        [0, 1, 2].map((index) => ({ name: `e${index}`, contactId: person(0), at: service.clock.now() })),
        project,
      )
    for (let round = 1; round <= 3; round += 1) {
      await happened()
      service.clock.advance(MINUTE)
      await Promise.all([1, 2, 3].map(() => fold(service, project)))
      assert.equal(await countedOf(service, project), { e0: round, e1: round, e2: round })
    }
  })

  test('are not counted twice when the counting goes on while somebody asks', async (service) => {
    const { project, person } = await newAudience(service)
    const at = service.clock.now()
    await record(service, [{ name: 'e', contactId: person(0), at }], project)
    const ctx = service.ctx(project.id)
    const before = await firstOpenEvent(ctx)
    service.clock.advance(MINUTE)
    await fold(service, project)
    assert.equal(await ctx.sql(eventTotal, [project.id, before, 'e']), [{ count: 1 }])
    const range = { from: new Date(0), to: service.clock.now(), days: null, rest: [] }
    const { statement, values } = countsByName(project.id, before, range, { limit: 9, looked: 9 })
    assert.equal(await ctx.sql(statement, values), [], 'what is left is in the counts')
  })

  test('are not lost when their statement commits 30 seconds later', async (service) => {
    const { project, person } = await newAudience(service)
    const at = service.clock.now()
    const late = { name: 'late', contactId: person(0), at, id: newId(new Date(at.getTime())) }
    await whileOpen(service, async (transaction) => {
      await transaction.query(...eventRows([late], project))
      service.clock.advance(30 * SECOND)
      await record(service, [{ name: 'early', contactId: person(0), at: service.clock.now() }], project)
      await fold(service, project)
      await transaction.commit()
    })
    await assertCounts(service, project)
    for (const moment of [10, 10, 30]) {
      service.clock.advance(moment * SECOND)
      await fold(service, project)
      await assertCounts(service, project)
    }
    assert.equal(await countedOf(service, project), { early: 1, late: 1 })
  })

  test('are counted in more than one batch', async (service) => {
    const { project, person } = await newAudience(service)
    const from = service.clock.now()
    await service.sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select $1, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000'
         || right(gen_random_uuid()::text, 17))::uuid, $2, 'e' || n % 7, at
       from (select n, date_trunc('milliseconds', $3::timestamptz) - n * interval '1 second' as at
         from generate_series(1, 120001) n) made`,
      [project.id, person(0), from],
    )
    service.clock.advance(MINUTE)
    await fold(service, project)
    const counted = Object.values(await countedOf(service, project))
    assert.is(
      counted.reduce((sum, count) => sum + count, 0),
      120_001,
    )
    await assertCounts(service, project)
  })

  test('are those of every project, whatever becomes of another', async (service) => {
    const audiences = [await newAudience(service), await newAudience(service), await newAudience(service)]
    for (const { project, person } of audiences) {
      await record(service, [{ name: 'e', contactId: person(0), at: service.clock.now() }], project)
    }
    service.clock.advance(MINUTE)
    const [, broken] = audiences.map(({ project }) => project.id).toSorted()
    await service.sql(`alter table event_names add constraint broken check (project_id <> '${broken}')`)
    await countEvents.handle(service.ctx(), {})
    const counted = async () => {
      const all = await Promise.all(audiences.map(({ project }) => countedOf(service, project)))
      return all.filter(({ e }) => e === 1).length
    }
    assert.is(await counted(), 2)
    await service.sql('alter table event_names drop constraint broken')
    await countEvents.handle(service.ctx(), {})
    assert.is(await counted(), 3)
  })
})

scenario('Contacts that are deleted while events are counted', start, (test) => {
  const TWO_MINUTES = 2 * MINUTE

  async function crowd(service: Service, counted: boolean) {
    const audience = await newAudience(service)
    const { project, person } = audience
    const at = new Date(service.clock.now().getTime() - TWO_MINUTES)
    const did = [0, 1, 1].map((index) => ({ name: 'old', contactId: person(index), at }))
    if (counted) {
      await record(service, did, project)
      await fold(service, project)
    }
    // A day of its own, so that the counting inserts rows.
    const young = service.clock.now()
    await record(
      service,
      [0, 1, 2].map((index) => ({ name: 'new', contactId: person(index), at: young })),
      project,
    )
    service.clock.advance(MINUTE)
    return { ...audience, ctx: service.ctx(project.id) }
  }

  for (const [what, order] of [
    ['before', ['fold', 'erase']],
    ['after', ['erase', 'fold']],
  ] as const) {
    test(`leave right counts when it is their turn ${what} the counting`, async (service) => {
      const { project, person, ctx } = await crowd(service, true)
      const work = {
        fold: () => fold(service, project),
        erase: () => eraseContacts(ctx, [person(0), person(1)]),
      }
      await whileOpen(service, async (held) => {
        await held.query(HOLD_FOLD, [project.id])
        const first = work[order[0]]()
        await until('the first waits', async () => (await waiting(service)) === 1, 3_000)
        const second = work[order[1]]()
        await until('both wait', async () => (await waiting(service)) === 2, 3_000)
        await held.commit()
        await Promise.all([first, second])
      })
      await fold(service, project)
      await assertCounts(service, project)
      assert.equal(await countedOf(service, project), { new: 1 })
    })
  }

  test('leave right counts when nothing was counted before', async (service) => {
    const { project, person, ctx } = await crowd(service, false)
    // The deletion waits for the contact when the counting begins.
    await whileOpen(service, async (held) => {
      await held.query('select from contacts where id = $1 for update', [person(0)])
      const erased = eraseContacts(ctx, [person(0)])
      await until('the deletion waits', async () => (await waiting(service)) === 1)
      const counted = fold(service, project)
      await until('the counting waits or has ended', async () =>
        Promise.race([counted.then(() => true), waiting(service).then((count) => count === 2)]),
      )
      await held.commit()
      await Promise.all([erased, counted])
    })
    await fold(service, project)
    await assertCounts(service, project)
    assert.equal(await countedOf(service, project), { new: 2 })
  })

  test('take only what was counted out of the counts', async (service) => {
    const { project, person, ctx } = await crowd(service, true)
    const at = service.clock.now()
    await record(service, [{ name: 'new', contactId: person(0), at }], project)
    await fold(service, project)
    await record(service, [{ name: 'newest', contactId: person(0), at }], project)
    await eraseContacts(ctx, [person(0), randomUUID()])
    await assertCounts(service, project)
    service.clock.advance(MINUTE)
    await fold(service, project)
    await assertCounts(service, project)
  })

  test('and those of other projects stay', async (service) => {
    const [one, other] = [await crowd(service, true), await crowd(service, true)]
    await Promise.all([fold(service, one.project), fold(service, other.project)])
    await eraseContacts(one.ctx, [one.person(0), other.person(0)])
    assert.ok(await countsAgree(service, one.project))
    assert.equal(await countedOf(service, other.project), { old: 3, new: 3 })
    assert.is((await newContacts(service, 1, other.project)).length, 1)
  })
})
