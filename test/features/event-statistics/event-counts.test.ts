import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { eraseContacts } from '../../../src/features/contacts/erase-contacts.ts'
import { eraseTracesJob } from '../../../src/features/contacts/erase-traces.job.ts'
import { countEventsJob } from '../../../src/features/event-statistics/count-events.job.ts'
import { countsByName, eventTotal } from '../../../src/features/event-statistics/event-counts.sql.ts'
import { openEvents } from '../../../src/features/event-statistics/event-counts.ts'
import { deleteEventsJob } from '../../../src/features/events/delete-events.job.ts'
import { HOUR, MINUTE, SECOND } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService, until } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { DAY, eventRows, got, newContacts, record, recount, skewed } from '../events/event-support.ts'
import { assertCounts, countsAgree, newAudience, whileOpen } from './event-counts-support.ts'

const start = () => startService({ ROLES: 'http' })

const waiting = async ({ sql }: Service): Promise<number> =>
  (await sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .length

/** What is counted for good. */
const settledOf = async ({ sql }: Service, { id }: Project): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await sql('select name, count from event_names where project_id = $1 and count <> 0', [id])).map(
      ({ name, count }) => [name, count],
    ),
  )

scenario('Events that are counted', start, (test) => {
  test('are those of days that ended long ago', async (service) => {
    const { project, person } = await newAudience(service)
    const now = service.clock.now().getTime()
    const midnight = now - (now % DAY)
    const times = [now, midnight, midnight - DAY, midnight - 2 * DAY, midnight - 2 * DAY - 1, now - 9 * DAY]
    await record(
      service,
      times.map((at) => ({ name: 'e', contactId: person(0), at: new Date(at) })),
      project,
    )
    await recount(service, project)
    assert.equal(await settledOf(service, project), { e: 2 })
    await assertCounts(service, project)
    service.clock.advance(3 * DAY)
    await recount(service, project)
    assert.equal(await settledOf(service, project), { e: 6 })
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
      service.clock.advance(3 * DAY)
      await Promise.all([-1, 0, 1].map((ahead) => recount(service, project, ahead * MINUTE)))
      assert.equal(await settledOf(service, project), { e0: round, e1: round, e2: round })
    }
    await assertCounts(service, project)
  })

  test('are not counted twice when a day is settled while somebody asks', async (service) => {
    const { project, person } = await newAudience(service)
    const at = service.clock.now()
    await record(service, [{ name: 'e', contactId: person(0), at }], project)
    const ctx = service.ctx(project.id)
    const before = await openEvents(ctx)
    service.clock.advance(4 * DAY)
    await recount(service, project)
    const total = { projectId: project.id, ...before, name: 'e' }
    assert.equal(await ctx.sql(eventTotal, total), [{ count: 1 }])
    const range = { from: new Date(0), to: service.clock.now(), days: null, rest: [] }
    const { statement, params } = countsByName(project.id, before, range, { limit: 9, looked: 9 })
    assert.equal(await ctx.sql(statement, params), [], 'what is left is in the counts')
  })

  test('are not lost when clocks differ by two minutes and a statement commits late', async (service) => {
    const { project, person } = await newAudience(service)
    const now = service.clock.now().getTime()
    const midnight = now - (now % DAY) + DAY
    service.clock.advance(midnight + 30 * SECOND - now)
    const at = (ahead: number) => new Date(service.clock.now().getTime() + ahead)
    const late = { name: 'late', contactId: person(0), at: at(-MINUTE) }
    await whileOpen(service, async (transaction) => {
      await transaction.query(...eventRows([late], project))
      await record(service, [{ name: 'early', contactId: person(0), at: at(MINUTE) }], project)
      await recount(service, project, MINUTE)
      service.clock.advance(45 * SECOND)
      await recount(service, project, MINUTE)
      await transaction.commit()
    })
    await assertCounts(service, project)
    for (const moment of [MINUTE, HOUR, DAY, DAY, DAY, DAY]) {
      service.clock.advance(moment)
      await recount(service, project, MINUTE)
      await recount(service, project, -MINUTE)
      await assertCounts(service, project)
    }
    assert.equal(await settledOf(service, project), { early: 1, late: 1 })
  })

  test('are never negative when something came days too late', async (service) => {
    const { project, person } = await newAudience(service)
    const old = new Date(service.clock.now().getTime() - 9 * DAY)
    await record(service, [{ name: 'e', contactId: person(0), at: old }], project)
    await recount(service, project)
    const late = { name: 'e', contactId: person(1), at: old }
    await record(service, [late, late], project)
    await eraseContacts(service.ctx(project.id), [person(1), person(0)])
    await assertCounts(service, project)
  })

  test('are those of every project', async (service) => {
    const audiences = [await newAudience(service), await newAudience(service), await newAudience(service)]
    for (const { project, person } of audiences) {
      await record(service, [{ name: 'e', contactId: person(0), at: service.clock.now() }], project)
    }
    service.clock.advance(4 * DAY)
    await workThrough(service, countEventsJob)
    for (const { project } of audiences) assert.equal(await settledOf(service, project), { e: 1 })
    assert.equal(await countEventsJob.pending(service.ctx()), [])
    service.clock.advance(7 * HOUR)
    assert.ok((await countEventsJob.pending(service.ctx())).length >= audiences.length)
  })
})

const MANY = 100_200

/** Many events of two names and of a few contacts, of the last minute. */
async function crowded(service: Service) {
  const audience = await newAudience(service, 3)
  const { project, person } = audience
  await service.sql(
    `insert into events (project_id, id, contact_id, name, created_at)
     select $1, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000'
       || right(gen_random_uuid()::text, 17))::uuid, ($2::uuid[])[n % 3 + 1], 'e' || n % 2, at
     from (select n, date_trunc('milliseconds', $3::timestamptz) - n * interval '0.5 ms' as at
       from generate_series(1, $4::int) n) made`,
    [project.id, [person(0), person(1), person(2)], service.clock.now(), MANY],
  )
  return audience
}

scenario('Many events of days that may still change', start, (test) => {
  test('are counted in the background, and by who asks when that is long ago', async (service) => {
    const { project, person } = await crowded(service)
    await assertCounts(service, project)
    await recount(service, project)
    await assertCounts(service, project)
    const total = async () => (await got(service, '?limit=1', project)).total
    await record(service, [{ name: 'new', contactId: person(0), at: service.clock.now() }], project)
    assert.is(await total(), MANY, 'as it was counted last')
    service.clock.advance(2 * MINUTE)
    await workThrough(service, countEventsJob)
    await assertCounts(service, project)
    await record(service, [{ name: 'new', contactId: person(0), at: service.clock.now() }], project)
    service.clock.advance(HOUR)
    await assertCounts(service, project)
  })

  test('are out of the counts at once when they are deleted', async (service) => {
    const { project, person } = await crowded(service)
    await recount(service, project)
    await eraseContacts(service.ctx(project.id), [person(0), randomUUID()])
    await workThrough(service, eraseTracesJob)
    await assertCounts(service, project)
    const answer = await service.as(project).delete('/events/e1')
    assert.equal(answer.body, { deletedCount: MANY / 3 })
    // The rows themselves go in the background, as far as the request has left them.
    await workThrough(service, deleteEventsJob)
    await assertCounts(service, project)
    assert.equal((await got(service, '/names', project)).eventNames, ['e0'])
  })

  test('are not back when a count that began before a deletion ends after it', async (service) => {
    const { project, person } = await crowded(service)
    await recount(service, project)
    service.clock.advance(2 * MINUTE)
    await whileOpen(service, async (held) => {
      await held.query('update event_recounts set version = version + 1 where project_id = $1', [project.id])
      const counted = recount(service, project)
      await until('the counting waits', async () => (await waiting(service)) === 1)
      await held.query('delete from contacts where project_id = $1 and id = $2', [project.id, person(0)])
      await held.commit()
      await counted
    })
    await assertCounts(service, project)
  })
})

scenario('Contacts that are deleted while days are settled', start, (test) => {
  /** Events of a settled day, and of a day that is over now. */
  async function crowd(service: Service, counted: boolean) {
    const audience = await newAudience(service)
    const { project, person } = audience
    const at = new Date(service.clock.now().getTime() - 5 * DAY)
    if (counted) {
      const did = [0, 1, 1].map((index) => ({ name: 'old', contactId: person(index), at }))
      await record(service, did, project)
      await recount(service, project)
    }
    const young = service.clock.now()
    await record(
      service,
      [0, 1, 2].map((index) => ({ name: 'new', contactId: person(index), at: young })),
      project,
    )
    service.clock.advance(4 * DAY)
    return { ...audience, ctx: service.ctx(project.id) }
  }

  for (const [what, order] of [
    ['before', ['recount', 'erase']],
    ['after', ['erase', 'recount']],
  ] as const) {
    test(`leave right counts when it is their turn ${what} the settling`, async (service) => {
      const { project, person, ctx } = await crowd(service, true)
      const work = {
        recount: () => recount(service, project),
        erase: () => eraseContacts(ctx, [person(0), person(1)]),
      }
      await whileOpen(service, async (held) => {
        await held.query('select from event_recounts where project_id = $1 for update', [project.id])
        const first = work[order[0]]()
        await until('the first waits', async () => (await waiting(service)) === 1)
        const second = work[order[1]]()
        await until('both wait', async () => (await waiting(service)) === 2)
        await held.commit()
        await Promise.all([first, second])
      })
      await assertCounts(service, project)
      assert.equal(await settledOf(service, project), { new: 1 })
    })
  }

  test('leave right counts when nothing was counted before', async (service) => {
    const { project, person, ctx } = await crowd(service, false)
    // The deletion waits for the contact when the settling begins.
    await whileOpen(service, async (held) => {
      await held.query('select from contacts where id = $1 for update', [person(0)])
      const erased = eraseContacts(ctx, [person(0)])
      await until('the deletion waits', async () => (await waiting(service)) === 1)
      const counted = recount(service, project)
      await until('the settling waits or has ended', async () =>
        Promise.race([counted.then(() => true), waiting(service).then((count) => count === 2)]),
      )
      await held.commit()
      await Promise.all([erased, counted])
    })
    await assertCounts(service, project)
    assert.equal(await settledOf(service, project), { new: 2 })
  })

  test('hold up nobody who records events', async (service) => {
    const { project, person } = await crowd(service, true)
    await whileOpen(service, async (held) => {
      await held.query('select from event_recounts where project_id = $1 for update', [project.id])
      const body = { email: 'ada@example.org', event: 'e' }
      const { status, text } = await service.as(project.public).post('/v1/track', body)
      assert.is(status, 200, text)
      assert.is((await got(service, '/e/usage', project)).totalCount, 1)
      await held.commit()
    })
    assert.ok(person(0))
  })

  test('and those of other projects stay', async (service) => {
    const [one, other] = [await crowd(service, true), await crowd(service, true)]
    await Promise.all([recount(service, one.project), recount(service, other.project, MINUTE)])
    await eraseContacts(skewed(one.ctx, -MINUTE), [one.person(0), other.person(0)])
    assert.ok(await countsAgree(service, one.project))
    assert.equal(await settledOf(service, other.project), { old: 3, new: 3 })
    assert.is((await newContacts(service, 1, other.project)).length, 1)
  })
})
