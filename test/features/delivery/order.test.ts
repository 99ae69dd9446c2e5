import * as assert from 'uvu/assert'
import { mailDeliveryWork } from '../../../src/features/delivery/mail-delivery.ts'
import { emailRow, type SendingService, sendBody, sendMail, startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, startService, until } from '../../support/service.ts'

/** A service with one connection to its SMTP server, so that messages arrive in the order in which they are taken. */
const start = () => startSending({ SMTP_CONNECTIONS: '1' })

/** Messages that wait in a disabled project until `release`, so that all are there when the first is taken. */
async function waiting(context: SendingService, project: Project, names: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const name of names) ids.push(await sendMail(context, `${name}@receiver.example`, {}, project))
  return ids
}

const disable = ({ sql }: SendingService, project: Project) =>
  sql('update projects set disabled = true where id = $1', [project.id])

async function release({ sql, app }: SendingService, project: Project): Promise<void> {
  await sql('update projects set disabled = false where id = $1', [project.id])
  app.services.work.ask(mailDeliveryWork, { projectId: project.id, standing: 'left' })
}

/** What was asked for so far stands in the queue: requests are gathered, and a later one is not written before them. */
async function requestsWritten({ app, newProject, sql }: SendingService): Promise<void> {
  const { id } = await newProject()
  app.services.work.ask(mailDeliveryWork, { projectId: id, standing: 'later', afterMs: 3_600_000 })
  await until('the last request is written', async () => {
    const jobs = await sql(`select from pgboss.job where name = $1 and data ->> 'projectId' = $2`, [
      mailDeliveryWork.name,
      id,
    ])
    return jobs.length > 0
  })
}

const arrived = ({ sink }: SendingService, names: string[]) =>
  until('all have arrived', () => {
    const found = sink.arrivals.map(({ to }) => to.split('@')[0] ?? '').filter((name) => names.includes(name))
    return found.length === names.length && found
  })

/** Held back by a due time in the future until all are there. */
async function heldBack(
  context: SendingService,
  names: string[],
): Promise<{ project: Project; ids: string[] }> {
  const project = await context.newProject()
  const hold = context.sink.hold()
  // One message keeps the only connection busy while the others come in.
  await sendMail(context, `plug-${names[0]}@receiver.example`, {}, project)
  await until('the connection is busy', () => context.sink.underWay.size === 1)
  await disable(context, project)
  await context.sql('update projects set disabled = false where id = $1', [project.id])
  const ids = await waiting(context, project, names)
  hold()
  return { project, ids }
}

scenario('The order of delivery', start, (test) => {
  test('of a project is by priority, then by the time at which mail is due', async (context) => {
    const { sql, newProject } = context
    const project = await newProject()
    const names = ['campaign-early', 'campaign-late', 'workflow', 'reset', 'earlier-reset']
    await disable(context, project)
    await sql('update projects set disabled = false where id = $1', [project.id])
    // Not due until all are in place.
    await sql(
      `create or replace function hold_back() returns trigger language plpgsql as
       'begin new.due_at := now() + interval ''1 hour''; return new; end'`,
    )
    await sql(
      'create trigger hold_back before insert on deliveries for each row execute function hold_back()',
    )
    const ids = await waiting(context, project, names)
    await sql('drop trigger hold_back on deliveries')
    // Two turns at the same time would hand over what each has taken.
    await requestsWritten(context)
    await until('no turn of the project to be under way', async () => {
      const jobs = await sql(
        `select from pgboss.job where name = $1 and data ->> 'projectId' = $2
           and (state = 'active' or state in ('created', 'retry') and start_after <= now())`,
        [mailDeliveryWork.name, project.id],
      )
      return jobs.length === 0
    })
    // All at once: a worker that looks meanwhile would find some of them without the others.
    await sql(
      `update deliveries set priority = place.priority, due_at = now() - place.late * interval '1 second'
       from unnest($1::uuid[], array[2, 2, 1, 0, 0], array[50, 40, 10, 20, 30]) as place (email_id, priority, late)
       where deliveries.email_id = place.email_id`,
      [ids],
    )
    await release(context, project)
    assert.equal(await arrived(context, names), [
      'earlier-reset',
      'reset',
      'workflow',
      'campaign-early',
      'campaign-late',
    ])
  })

  test('does not leave out mail that was committed late with an earlier due time', async (context) => {
    const { sql, project } = context
    const first = await sendMail(context, 'first@receiver.example')
    await until('it is sent', async () => (await emailRow(context, first)).status === 'SENT')
    const { ids } = await heldBack(context, ['late-commit'])
    // As if its transaction had begun long before what was taken last.
    await sql(`update deliveries set due_at = now() - interval '5 minutes' where email_id = $1`, [ids[0]])
    await until(
      'it is sent all the same',
      async () => (await emailRow(context, ids[0] ?? '')).status === 'SENT',
    )
    assert.ok(project)
  })
})

scenario(
  'The rate of a project',
  () => startService({ PROJECT_SEND_RATE_PER_SECOND: '5' }),
  (test) => {
    test('holds over all of its mail, and is charged only for what is taken', async (service) => {
      const { as, project, sql } = service
      const to = Array.from({ length: 12 }, (_, index) => `paced${index}@receiver.example`)
      const body = sendBody(project, { to })
      const began = Math.floor(Date.now() / 1000)
      const answer = await as(project).post('/v1/send', body)
      assert.is(answer.status, 200, answer.text)
      await until('all are sent', async () => {
        const [row] = await sql(`select count(*)::int as count from emails where status = 'SENT'`)
        return row?.count === 12
      })
      const sent = await sql<{ at: number }>(
        `select floor(extract(epoch from created_at))::int as at from events where name = 'email.sent' order by created_at`,
      )
      // Mail may be settled long after the second in which it was taken, but not before it.
      const seconds = sent.map(({ at }) => at - began)
      assert.ok((seconds[5] ?? 0) >= 1 && (seconds[10] ?? 0) >= 2, `sent in the seconds ${seconds.join()}`)
      const [window] = await sql(`select used from limit_windows where project_id = $1 and kind = 'SENDS'`, [
        project.id,
      ])
      assert.ok(window?.used <= 5, `${window?.used} charged in the last second`)
    })

    test('of one project does not slow down another', async (service) => {
      const { newProject, as, sql } = service
      const [busy, other] = [await newProject(), await newProject()]
      const to = Array.from({ length: 300 }, (_, index) => `many${index}@receiver.example`)
      const body = sendBody(busy, { to })
      await as(busy).post('/v1/send', body)
      const id = await sendMail(service, 'quick@receiver.example', {}, other)
      await until('it is sent', async () => (await emailRow(service, id)).status === 'SENT')
      const [row] = await sql(
        `select count(*)::int as count from emails where project_id = $1 and status = 'PENDING'`,
        [busy.id],
      )
      assert.ok(row?.count > 30, `${row?.count} of the busy project still wait`)
    })
  },
)

scenario('Suppressed addresses', startService, (test) => {
  test('get no mail, transactional mail neither, and the event says why', async (service) => {
    const { sql, project } = service
    await sql(
      `insert into suppressions (project_id, email, reason, created_at) values ($1, 'gone@receiver.example', 'BOUNCE', now())`,
      [project.id],
    )
    const id = await sendMail(service, 'gone@receiver.example')
    const row = await until('it is settled', async () => {
      const found = await emailRow(service, id)
      return found.status !== 'PENDING' && found
    })
    assert.is(row.status, 'SUPPRESSED')
    assert.match(row.error, 'suppressed')
    const [event] = await sql('select name, data from events where email_id = $1', [id])
    assert.is(event?.name, 'email.suppressed')
    assert.equal(await sql('select from deliveries where email_id = $1', [id]), [])
  })
})
