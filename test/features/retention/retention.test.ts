import * as assert from 'uvu/assert'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { monthName, monthOf } from '../../../src/features/retention/months.rules.ts'
import { resetProject } from '../../../src/features/wipes/wipes.ts'
import { earliestId } from '../../../src/lib/ids.ts'
import { HOUR } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { sendBody } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService, until } from '../../support/service.ts'

const DAY = 24 * HOUR

/** No worker: what happens in the background is what a test has happen. */
const start = () =>
  startService({
    ROLES: 'http',
    EVENT_RETENTION_DAYS: '60',
    EMAIL_RETENTION_DAYS: '120',
    RATE_LIMIT_PER_MINUTE: '0',
  })

const purge = (service: Service) => purgeExpiredJob.run(service.ctx(), {})

const track = ({ as }: Service, project: Project, event = 'opened door') =>
  as(project.public).post('/v1/track', { email: 'ada@example.org', event })

const moveTo = ({ clock }: Service, time: Date) => clock.advance(time.getTime() - clock.now().getTime())

/** The ranges of the partitions, as months. */
async function monthsOf({ sql }: Service, table: string): Promise<string[]> {
  const rows = await sql<{ bounds: string }>(
    `select pg_get_expr(relpartbound, oid) as bounds from pg_class
     join pg_inherits on inhrelid = oid where inhparent = $1::regclass`,
    [table],
  )
  const month = (id: string | undefined) =>
    id && monthName(new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)))
  return rows
    .map(({ bounds }) => {
      const [, from, to] = /FROM \((?:MINVALUE|'(.*)')\) TO \((?:MAXVALUE|'(.*)')\)/.exec(bounds) ?? []
      return `${month(from) ?? 'first'}-${month(to) ?? 'last'}`
    })
    .sort((a, b) => Number(b.startsWith('first')) - Number(a.startsWith('first')) || a.localeCompare(b))
}

/** An event of that moment, with the lowest id that it can have. */
const addEvent = ({ sql }: Service, { id }: Project, name: string, at: Date) =>
  sql(
    `insert into events (project_id, id, contact_id, name, created_at)
     select $1, $2, id, $3, $4 from contacts where project_id = $1 limit 1`,
    [id, earliestId(at), name, at],
  )

const eventsOf = async ({ sql }: Service, { id }: Project) =>
  (await sql<{ name: string }>('select name from events where project_id = $1 order by id', [id])).map(
    ({ name }) => name,
  )

scenario('Retention of events and emails', start, (test) => {
  test('months are made ahead, dropped whole, and the rows at their bounds kept', async (service) => {
    const { sql, clock, project } = service
    const other = await service.newProject()
    const month = (later: number) => monthOf(began, later)
    const before = (time: Date) => new Date(time.getTime() - 1)
    const name = (later: number) => monthName(month(later))
    const began = clock.now()
    for (const one of [project, other]) assert.is((await track(service, one, 'today')).status, 200)

    // An id from beyond all months: nothing is cut off, and nothing refused.
    await sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select project_id, 'ffffffff-0000-0000-0000-000000000000', contact_id, 'late', created_at from events limit 1`,
    )
    await purge(service)
    assert.equal(await monthsOf(service, 'events'), ['first-last'])
    assert.equal(
      await sql(`select from pg_constraint where conrelid = 'events_base'::regclass and contype = 'c'`),
      [],
    )
    await sql(`delete from events where name = 'late'`)

    // Older than the first month: row by row.
    for (const one of [project, other]) {
      await addEvent(service, one, 'ancient', before(monthOf(new Date(began.getTime() - 60 * DAY))))
      await addEvent(service, one, 'old', monthOf(new Date(began.getTime() - 60 * DAY)))
    }
    await purge(service)
    assert.equal(await monthsOf(service, 'events'), [`first-${name(2)}`, `${name(2)}-last`])
    assert.equal(await monthsOf(service, 'emails'), [`first-${name(2)}`, `${name(2)}-last`])
    for (const one of [project, other]) assert.equal(await eventsOf(service, one), ['old', 'today'])

    for (const one of [project, other]) {
      await addEvent(service, one, 'a', before(month(2)))
      await addEvent(service, one, 'b', month(2))
      await addEvent(service, one, 'c', before(month(3)))
      await addEvent(service, one, 'd', month(3))
    }
    moveTo(service, new Date(month(2).getTime() + DAY))
    await purge(service)
    // The last partition had rows of two months, so it became one of them.
    assert.equal(await monthsOf(service, 'events'), [
      `first-${name(2)}`,
      `${name(2)}-${name(4)}`,
      `${name(4)}-last`,
    ])
    moveTo(service, new Date(month(3).getTime() + DAY))
    await purge(service)
    moveTo(service, new Date(month(4).getTime() + 60 * DAY - HOUR))
    await purge(service)
    assert.is((await monthsOf(service, 'events'))[0], `${name(2)}-${name(4)}`)
    for (const one of [project, other]) assert.equal(await eventsOf(service, one), ['d'])
    moveTo(service, new Date(month(4).getTime() + 60 * DAY + HOUR))
    await track(service, other)
    await purge(service)
    assert.equal(await eventsOf(service, project), [])
    assert.equal(await eventsOf(service, other), ['opened door'])
    assert.equal(
      await sql(`select reloptions from pg_class where relname = 'emails_from_${name(4)}'`),
      [{ reloptions: ['fillfactor=80', 'autovacuum_vacuum_scale_factor=0.02'] }],
      'partitions have the options of the first one',
    )
  })

  test('mail that waits keeps its month; bodies go with their messages', async (service) => {
    const { sql, clock, as, project } = service
    const answer = await as(project).post('/v1/send', sendBody(project))
    assert.is(answer.status, 200)
    const id: string = answer.body.data.emails[0].email
    const month = async () => {
      const [email] = await sql('select tableoid::regclass::text as month from emails where id = $1', [id])
      return email?.month ?? null
    }
    clock.advance(40 * DAY)
    await purge(service)
    clock.advance(200 * DAY)
    const kept = await month()
    await purge(service)
    assert.is(await month(), kept, 'it waits')
    await sql('delete from deliveries where email_id = $1', [id])
    await sql(`update emails set status = 'SENT' where id = $1`, [id])
    await purge(service)
    assert.is(await month(), null)
    assert.equal(await sql('select to_regclass($1) as month', [kept]), [{ month: null }])
    assert.equal(await sql('select from email_contents'), [])
  })

  test('nothing is refused or lost while months are dropped and made', async (service) => {
    const { sql, clock, as, project, databaseUrl } = service
    for (const days of [0, 40, 40]) {
      clock.advance(days * DAY)
      await track(service, project, 'past')
      await purge(service)
    }
    clock.advance(120 * DAY)
    // Somebody reads all the time: the table is not to be had.
    const reader = await hold(databaseUrl, 'lock table events, emails in access share mode')
    const answers: { kind: 'event' | 'email'; status: number; id: string }[] = []
    let purging = true
    const callers = Array.from({ length: 4 }, async () => {
      while (purging || answers.length < 40) {
        const tracked = await track(service, project, 'present')
        answers.push({ kind: 'event', status: tracked.status, id: tracked.body.data?.event })
        const sent = await as(project).post('/v1/send', sendBody(project))
        answers.push({ kind: 'email', status: sent.status, id: sent.body.data?.emails[0].email })
      }
    })
    const purged = purge(service).finally(() => {
      purging = false
    })
    await reader.waiters(1)
    const before = answers.length
    await until('calls beside a purge that waits', () => answers.length >= before + 16)
    await reader.release()
    await purged
    await Promise.all(callers)
    assert.equal(
      answers.filter(({ status }) => status !== 200),
      [],
    )
    for (const kind of ['event', 'email'] as const) {
      const ids = answers.filter((one) => one.kind === kind).map(({ id }) => id)
      const [found] = await sql(`select count(*)::int as count from ${kind}s where id = any($1)`, [ids])
      assert.is(found?.count, ids.length)
    }
    assert.not((await eventsOf(service, project)).includes('past'))
  })

  test('contacts are erased, and projects reset, over all months', async (service) => {
    const { sql, clock, as, project } = service
    const other = await service.newProject()
    const projects = [project, other]
    for (const days of [0, 35, 35]) {
      clock.advance(days * DAY)
      await purge(service)
      for (const one of projects) {
        await track(service, one)
        assert.is((await as(one).post('/v1/send', sendBody(one))).status, 200)
      }
    }
    const rows = ({ id }: Project) =>
      sql(
        `select (select count(*)::int from events where project_id = $1) as events,
           (select count(*)::int from emails where project_id = $1) as emails,
           (select count(*)::int from email_contents where project_id = $1) as bodies,
           (select count(distinct tableoid)::int from events where project_id = $1) as months`,
        [id],
      )
    const before = await rows(other)
    assert.ok(before[0]?.months > 1)
    const none = [{ events: 0, emails: 0, bodies: 0, months: 0 }]
    await resetProject(service.ctx(), project.id)
    assert.equal(await rows(project), none)
    assert.equal(await rows(other), before)
    const contacts = await sql<{ id: string }>('select id from contacts where project_id = $1', [other.id])
    for (const { id } of contacts) assert.is((await as(other).delete(`/contacts/${id}`)).status, 204)
    assert.equal(await rows(other), none)
  })
})
