import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { countEventsJob } from '../../../src/features/event-statistics/count-events.job.ts'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { earliestId } from '../../../src/lib/ids.ts'
import { HOUR, MINUTE } from '../../support/clock.ts'
import { sendBody } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'

const DAY = 24 * HOUR

const purge = (service: Service) => purgeExpiredJob.run(service.ctx(), {})

/** Accepts a message with a file, and waits until it has been handed over. */
async function sendWithFile(service: Service): Promise<string> {
  const { as, project, sql } = service
  const answer = await as(project).post(
    '/v1/send',
    sendBody(project, {
      attachments: [{ filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }],
    }),
  )
  const id = answer.body.data.emails[0].email
  await until('the mail to be sent', async () => {
    const [email] = await sql('select status from emails where id = $1', [id])
    return email?.status === 'SENT'
  })
  return id
}

/** How many bodies and files there are. */
async function kept({ sql }: Service): Promise<{ bodies: number; files: number }> {
  const [bodies, files] = await Promise.all([
    sql('select from email_contents'),
    sql('select from email_attachments'),
  ])
  return { bodies: bodies.length, files: files.length }
}

scenario('The hourly purge', startService, (test) => {
  test('removes idempotency keys after 24 hours, of all projects, however many', async (service) => {
    const { sql, clock, project, newProject, as } = service
    const other = await newProject()
    const insert = (projectId: string, prefix: string, count: number, age: number) =>
      sql(
        `insert into idempotency_keys (project_id, key, holder, request, status_code, created_at)
         select $1, $2 || n, $3, 'POST /v1/track', 200, $4 from generate_series(1, $5::int) n`,
        [projectId, prefix, randomUUID(), new Date(clock.now().getTime() - age), count],
      )
    await insert(project.id, 'old-', 2_500, 24 * HOUR + MINUTE)
    await insert(other.id, 'old-', 3, 48 * HOUR)
    await insert(project.id, 'new-', 5, 24 * HOUR - MINUTE)
    await purge(service)
    const left = await sql<{ key: string }>('select key from idempotency_keys order by key')
    assert.equal(
      left.map(({ key }) => key),
      ['new-1', 'new-2', 'new-3', 'new-4', 'new-5'],
    )
    const repeat = await as(project.public).post(
      '/v1/track',
      { email: 'a@example.org', event: 'e' },
      { headers: { 'idempotency-key': 'new-1' } },
    )
    assert.is(repeat.status, 409)
  })

  test('removes bodies and files of finished mail after 90 days, and keeps the mail', async (service) => {
    const { sql, clock, as, project } = service
    const id = await sendWithFile(service)
    clock.advance(90 * DAY - MINUTE)
    await purge(service)
    assert.equal(await kept(service), { bodies: 1, files: 1 })
    const recent = await sendWithFile(service)
    clock.advance(2 * MINUTE)
    await purge(service)
    assert.equal(await kept(service), { bodies: 1, files: 1 })
    const read = async (email: string) =>
      (await as(project).graphql(`{ email(id: "${email}") { status body } }`)).body.data.email
    assert.equal(await read(id), { status: 'SENT', body: null })
    assert.equal(await read(recent), { status: 'SENT', body: '<p>Hello</p>' })
    await sql('delete from email_contents')
    await sql('delete from email_attachments')
  })

  test('keeps what waiting mail needs, however old it is', async (service) => {
    const { sql, clock } = service
    const id = await sendWithFile(service)
    await sql(`update emails set status = 'PENDING' where id = $1`, [id])
    clock.advance(365 * DAY)
    await purge(service)
    assert.equal(await kept(service), { bodies: 1, files: 1 })
    await sql(`update emails set status = 'CANCELLED' where id = $1`, [id])
    await purge(service)
    assert.equal(await kept(service), { bodies: 0, files: 0 })
  })

  test('removes reports of imports and bulk changes that ended 30 days ago', async (service) => {
    const { sql, clock, as, project } = service
    const ask = async () => {
      const answer = await as(project).post('/contacts/bulk-delete', { contactIds: [randomUUID()] })
      return answer.body.jobId
    }
    const [ended, waiting] = [await ask(), await ask()]
    await until('the jobs to end', async () => {
      const [row] = await sql(`select count(*)::int as n from contact_jobs where state = 'completed'`)
      return row?.n === 2
    })
    const jobs = async () => (await sql('select id from contact_jobs order by id')).map(({ id }) => id)
    clock.advance(30 * DAY - HOUR)
    await purge(service)
    assert.equal(await jobs(), [ended, waiting])
    clock.advance(2 * HOUR)
    // At the last moment: a worker that finds it would end it.
    await sql(`update contact_jobs set state = 'waiting' where id = $1`, [waiting])
    await purge(service)
    assert.equal(await jobs(), [waiting])
  })

  test('keeps the newest 10,000 reports of a project', async (service) => {
    const { sql, clock } = service
    const { id } = await service.newProject()
    const now = clock.now()
    const insert = (ids: string, values: unknown[]) =>
      sql(
        `insert into contact_jobs (project_id, id, type, state, created_at)
         select $1::uuid, id, 'DELETE', 'completed', $2 from (${ids}) ids (id)`,
        [id, now, ...values],
      )
    await insert('select $3::uuid', [earliestId(now)])
    // Later than the first one.
    await insert(
      `select ('ff' || substr(gen_random_uuid()::text, 3))::uuid from generate_series(1, 10000)`,
      [],
    )
    await purge(service)
    const left = await sql('select id from contact_jobs where project_id = $1 order by id', [id])
    assert.is(left.length, 10_000)
    assert.is.not(left[0]?.id, earliestId(now), 'the oldest has gone')
  })

  test('removes counts of events by day after 400 days; statistics of those days stay', async (service) => {
    const { sql, clock, as } = service
    const project = await service.newProject()
    const ask = { email: 'ada@example.org', event: 'bought' }
    await as(project.public).post('/v1/track', ask)
    const day = clock.now().toISOString().slice(0, 10)
    await workThrough(service, countEventsJob)
    clock.advance(402 * DAY)
    await workThrough(service, countEventsJob)
    const counts = () => sql('select name from event_counts where project_id = $1', [project.id])
    const statistics = async () =>
      (await as(project).get(`/events/stats?startDate=${day}&endDate=${day}`)).body
    const expected = [{ name: 'bought', count: 1, uniqueContacts: 1 }]
    assert.is((await counts()).length, 1)
    assert.equal(await statistics(), expected)
    await purge(service)
    assert.is((await counts()).length, 0)
    assert.equal(await statistics(), expected)
  })

  test('removes what came of deletions of fields after a day', async (service) => {
    const { sql, clock } = service
    const { id } = await service.newProject()
    const now = clock.now().getTime()
    await sql(
      `insert into contact_field_deletions (project_id, name, requested_at, completed_at)
       values ($1, 'old', $2, $2), ($1, 'new', $3, $3), ($1, 'running', $2, null)`,
      [id, new Date(now - DAY - MINUTE), new Date(now - DAY + MINUTE)],
    )
    await purge(service)
    const left = await sql('select name from contact_field_deletions where project_id = $1 order by name', [
      id,
    ])
    assert.equal(
      left.map(({ name }) => name),
      ['new', 'running'],
    )
  })

  test('is scheduled, and runs from the queue', async (service) => {
    const { sql, clock, project, app } = service
    const [schedule] = await sql('select cron, timezone from pgboss.schedule where name = $1', [
      purgeExpiredJob.name,
    ])
    assert.equal({ ...schedule }, { cron: '17 * * * *', timezone: 'UTC' })
    await sql(
      `insert into idempotency_keys (project_id, key, holder, request, created_at) values ($1, 'k', $2, 'x', $3)`,
      [project.id, randomUUID(), new Date(clock.now().getTime() - 25 * HOUR)],
    )
    await app.services.boss.send(purgeExpiredJob.name, {})
    await until('the job to run', async () => {
      const found = await sql(`select from idempotency_keys where key = 'k'`)
      return found.length === 0
    })
  })
})

const shortKept = () => startService({ EMAIL_BODY_RETENTION_DAYS: '2', IDEMPOTENCY_TTL_HOURS: '48' })

scenario('The purge with other settings', shortKept, (test) => {
  test('keeps as long as they say', async (service) => {
    const { clock, sql, as, project } = service
    await as(project.public).post(
      '/v1/track',
      { email: 'a@example.org', event: 'e' },
      { headers: { 'idempotency-key': 'k' } },
    )
    await sendWithFile(service)
    clock.advance(2 * DAY - MINUTE)
    await purge(service)
    assert.equal(await kept(service), { bodies: 1, files: 1 })
    assert.is((await sql('select from idempotency_keys')).length, 1)
    clock.advance(2 * MINUTE)
    await purge(service)
    assert.equal(await kept(service), { bodies: 0, files: 0 })
    assert.is((await sql('select from idempotency_keys')).length, 0)
  })
})
