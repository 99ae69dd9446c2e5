import * as assert from 'uvu/assert'
import { hold } from '../support/held-lock.ts'
import { sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

/** More than there are pipelined connections, so that each has one that waits. */
const WAITING = 8

scenario('Short statements', startService, (test) => {
  test('that wait for a row hold up nobody else', async ({ as, project, newProject, databaseUrl, sql }) => {
    const body = { email: 'locked@example.org', event: 'seen' }
    await as(project.public).post('/v1/track', body)
    const held = await hold(databaseUrl, `select from contacts where email = $1 for update`, [body.email])
    const waiting = Array.from({ length: WAITING }, (_, index) =>
      as(project.public).post('/v1/track', { ...body, data: { [`key${index}`]: index } }),
    )
    await held.waiters(WAITING)
    const other = await newProject()
    const answer = await as(other.public).post('/v1/track', body)
    assert.is(answer.status, 200)
    await held.release()
    const answers = await Promise.all(waiting)
    assert.equal(
      answers.map(({ status }) => status),
      Array.from({ length: WAITING }, () => 200),
    )
    const [contact] = await sql('select data from contacts where project_id = $1', [project.id])
    assert.is(Object.keys(contact?.data).length, WAITING)
  })

  test('go on over new connections after the server has ended the old ones', async ({ as, project, sql }) => {
    const body = { email: 'a@example.org', event: 'seen' }
    await as(project.public).post('/v1/track', body)
    await sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = 'mailwright'`,
    )
    // The first to use an ended connection may find out; it is told to try again.
    await Promise.all(Array.from({ length: 6 }, () => as(project.public).post('/v1/track', body)))
    const answer = await as(project.public).post('/v1/track', body)
    assert.is(answer.status, 200)
  })
})

const TRACKS = 40
const SENDS = 30
/** Connections of the pool: as many go on waiting there. */
const POOL = 10

const track = ({ as, project }: Service, n: number) =>
  as(project.public).post('/v1/track', { email: `t${n}@example.org`, event: 'seen' })

const send = ({ as, project }: Service, n: number) =>
  as(project).post('/v1/send', sendBody(project, { to: `s${n}@example.org` }), {
    headers: { 'idempotency-key': `send-${n}` },
  })

const times = <Result>(count: number, make: (n: number) => Result) =>
  Array.from({ length: count }, (_, n) => make(n))

scenario('Statements that are prepared while a table is locked', startService, (test) => {
  test('run later, once each, whichever of them was to prepare it', async (service) => {
    const { databaseUrl, sql, project } = service
    // The connections are new: the first statement of a kind is prepared on each, and waits for the lock.
    const held = await hold(databaseUrl, 'lock table events in access exclusive mode')
    const answers = Promise.all([
      ...times(TRACKS, (n) => track(service, n)),
      ...times(SENDS, (n) => send(service, n)),
    ])
    await held.waiters(POOL)
    await held.release()
    assert.equal(
      (await answers).map(({ status }) => status),
      times(TRACKS + SENDS, () => 200),
    )
    const counted = await sql(
      `select (select count(*)::int from events where project_id = $1 and name = 'seen') as events,
         (select count(*)::int from emails where project_id = $1) as emails,
         (select count(*)::int from idempotency_keys where project_id = $1 and status_code = 200) as keys`,
      [project.id],
    )
    assert.equal(counted, [{ events: TRACKS, emails: SENDS, keys: SENDS }])
  })
})
