import pg from 'pg'
import * as assert from 'uvu/assert'
import { releaseAbandoned } from '../../src/features/delivery/delivery.sql.ts'
import { countJobs, listDeadJobs } from '../../src/queue/dead-jobs.ts'
import { delivered, send } from '../features/sending/send-support.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'

const DELIVERY = 'emails.deliver'

/** Two services in schemas of the database of a third, which is in `public`. */
async function start() {
  const home = await startService()
  const inSchema = (schema: string) => startService({ DATABASE_URL: `${home.databaseUrl}?schema=${schema}` })
  const left = await inSchema('left')
  const right = await inSchema('right')
  const client = new pg.Client({ connectionString: home.databaseUrl })
  await client.connect()
  const services = [home, left, right]
  return {
    services,
    query: async (text: string) => (await client.query(text)).rows,
    stop: async () => {
      await client.end()
      // The database is that of the first.
      for (const service of services.toReversed()) await service.stop()
    },
  }
}

async function sendAndReceive(service: Service, to: string): Promise<void> {
  const { body, text } = await send(service, { to })
  assert.ok(body.success, text)
  await delivered(service, body.data.emails[0].email)
}

const csv = (email: string) => {
  const form = new FormData()
  form.set('file', new Blob([`email,plan\n${email},pro\n`]), 'contacts.csv')
  return form
}

/** Goes through requests, background work, hot statements and Prisma. */
async function use(service: Service, name: string): Promise<void> {
  const { project, call } = service
  const key = project.secret
  const email = `${name}@example.org`
  await sendAndReceive(service, email)
  await call('POST', '/v1/track', { key: project.public, body: { email, event: `seen_${name}` } })
  const { body } = await call('POST', '/contacts/import', { key, body: csv(`imported-${name}@example.org`) })
  await until('the import is done', async () => {
    const job = await call('GET', `/contacts/import/${body.jobId}`, { key })
    return job.body.state === 'completed'
  })
}

scenario('Services in schemas of one database', start, (test) => {
  test('work, and do not see each other', async ({ services, query }) => {
    const names = ['home', 'left', 'right']
    for (const [index, service] of services.entries()) await use(service, names[index] ?? '')
    for (const [index, service] of services.entries()) {
      const key = service.project.secret
      const name = names[index]
      const contacts = await service.call('GET', '/contacts', { key })
      const emails = contacts.body.data.map(({ email }: { email: string }) => email)
      assert.equal(emails.sort(), [`${name}@example.org`, `imported-${name}@example.org`].sort())
      const ready = await service.call('GET', '/health/ready')
      assert.is(ready.status, 200, ready.text)
      for (const other of services) {
        if (other === service) continue
        assert.is((await other.call('GET', '/contacts', { key })).status, 401)
      }
    }
    const counts = ['public', 'left', 'right'].map(
      (schema) => `(select count(*)::int from "${schema}".contacts)`,
    )
    assert.equal(await query(`select array[${counts}] as counts`), [{ counts: [2, 2, 2] }])
  })

  test('hear only of their own work', async ({ services: [home, left, right] }) => {
    if (!home || !left || !right) throw new Error('one is missing')
    const heard: string[] = []
    for (const other of [home, right])
      other.app.services.queueConnections.onNotification((q) => heard.push(q))
    const own: string[] = []
    left.app.services.queueConnections.onNotification((queue) => own.push(queue))
    await sendAndReceive(left, 'heard@example.org')
    await until('its own notification', () => own.includes(DELIVERY))
    assert.equal(
      heard.filter((queue) => queue === DELIVERY),
      [],
    )
  })

  test('have queues of their own', async ({ services, query }) => {
    const [, left, right] = services
    if (!left || !right) throw new Error('one is missing')
    await query(`insert into left_pgboss.job (name, data, state) values ('${DELIVERY}', '{}', 'retry')`)
    const waiting = async (service: Service) =>
      (await countJobs(service.ctx(), [DELIVERY])).get(DELIVERY)?.pending
    assert.ok(await waiting(left))
    assert.is(await waiting(right), 0)
    const ofDeadWorkers = { projectId: null, queue: DELIVERY, now: new Date(), error: '', clockShift: 0 }
    assert.equal(await left.ctx().sql(releaseAbandoned, ofDeadWorkers), [])
    assert.equal(await listDeadJobs(left.ctx(), { queue: null, projectId: null, limit: 1 }), [])
  })

  test('stand when the schema of another is deleted', async ({ services: [, left, right], query }) => {
    if (!left || !right) throw new Error('one is missing')
    await left.app.stop()
    await query('drop schema "left" cascade')
    await use(right, 'after')
    const [index] = await query(`select to_regclass('"right".contacts_email_part')::text as name`)
    assert.is(index?.name, '"right".contacts_email_part')
  })
})
