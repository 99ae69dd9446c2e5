import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { mailDeliveryWork } from '../../src/features/delivery/mail-delivery.ts'
import { type CapturedLog, capturedLog } from '../support/captured-log.ts'
import { HOUR } from '../support/clock.ts'
import { hold } from '../support/held-lock.ts'
import type { Refusal } from '../support/mail-sink.ts'
import {
  attempted,
  deliveryRow,
  pass,
  type SendingService,
  sendBody,
  sendMail,
  startSending,
} from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'

type Context = SendingService & { log: CapturedLog }

const CONNECTIONS = 4
const TRY_LATER: Refusal = { at: 'RCPT', code: 450, text: '4.2.0 Greylisted' }

/** A service whose hand-overs the tests can hold in the middle. */
async function start(): Promise<Context> {
  const refuse = (to: string, attempt: number) => (to.startsWith('later') && attempt === 1 ? TRY_LATER : null)
  const log = capturedLog()
  const env = { SMTP_CONNECTIONS: String(CONNECTIONS) }
  return { ...(await startSending(env, { log: log.log, sink: { refuse } })), log }
}

/** Sends one message to each of `count` people in one request. */
async function sendToMany(context: Context, name: string, count: number): Promise<void> {
  const { as, project } = context
  const to = Array.from({ length: count }, (_, index) => `${name}${index}@receiver.example`)
  const body = sendBody(project, { to })
  const answer = await as(project).post('/v1/send', body)
  assert.is(answer.status, 200, answer.text)
}

const rowsOf = ({ sql }: Context, name: string) =>
  sql('select * from emails where to_email like $1', [`${name}%`])

const deliveriesOf = ({ sql }: Context, name: string) =>
  sql(
    `select d.* from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
     where to_email like $1`,
    [`${name}%`],
  )

/** How many messages may have arrived twice, by the worker's own count. */
async function uncertain({ call }: Context): Promise<number> {
  const { text } = await call('GET', '/metrics')
  return Number(/^mailwright_uncertain_deliveries_total (\d+)$/m.exec(text)?.[1] ?? 0)
}

const allUnderWay = ({ sink }: Context) =>
  until('every connection is busy', () => sink.underWay.size === CONNECTIONS)

scenario('The delivery worker', start, (test) => {
  test('hands nothing over that another worker has by now, and settles nothing of it', async (context) => {
    const { sink, sql, log } = context
    const goOn = sink.hold()
    await sendToMany(context, 'stalled', 20)
    await allUnderWay(context)
    // Its turns were given to another worker while it was cut off: their next attempts are active.
    await sql(`update pgboss.job set retry_count = retry_count + 1 where name = $1 and state = 'active'`, [
      mailDeliveryWork.name,
    ])
    await sql('update deliveries set taken_attempt = taken_attempt + 1 where taken_by is not null')
    await until('its heartbeat tells the worker', () => log.text().includes('given to another worker'))
    goOn()
    await attempted(context, await sendMail(context, 'fresh@receiver.example'), 1)
    await until('all is quiet', () => sink.underWay.size === 0)
    const handedOver = [...sink.counts()].filter(([to]) => to.startsWith('stalled'))
    assert.is(handedOver.length, CONNECTIONS, 'only what was under way')
    assert.ok((await rowsOf(context, 'stalled')).every(({ status }) => status === 'PENDING'))
    await sql(`delete from deliveries`)
    await sql(`delete from pgboss.job where name = $1`, [mailDeliveryWork.name])
  })

  test('mail of a worker that died is due at once, counts the attempt and says that it may arrive twice', async (context) => {
    const { sink, sql } = context
    const id = await sendMail(context, 'later-lost@receiver.example')
    await attempted(context, id, 1)
    // As when a worker took it and died: no job of that id is active.
    await sql('update deliveries set taken_by = $2, taken_attempt = 0, attempts = 2 where email_id = $1', [
      id,
      randomUUID(),
    ])
    const before = await uncertain(context)
    const row = await attempted(context, id, 3)
    assert.is(row.status, 'SENT')
    assert.is(sink.counts().get('later-lost@receiver.example'), 1)
    assert.is(await uncertain(context), before + 1)
  })

  test('what is still being handed over is left alone, however long that takes', async (context) => {
    const { sink } = context
    const goOn = sink.hold()
    const id = await sendMail(context, 'slow@receiver.example')
    await until('the hand-over', () => sink.counts().has('slow@receiver.example'))
    pass(context, 5 * HOUR)
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    assert.is((await deliveryRow(context, id)).attempts, 1)
    const query = `{ email(id: "${id}") { status } }`
    const shown = await context.as().graphql(query)
    assert.is(shown.body.data.email.status, 'SENDING')
    goOn()
    assert.is((await attempted(context, id, 1)).status, 'SENT')
    assert.is(sink.counts().get('slow@receiver.example'), 1)
  })

  test('settles mail whose details the database refuses, rather than sending it again', async (context) => {
    const { sink, sql } = context
    await sql(`alter table events add constraint no_poison check (data->>'subject' <> 'poison')`)
    const poison = await sendMail(context, 'poison@receiver.example', { subject: 'poison' })
    await sendToMany(context, 'beside', CONNECTIONS - 1)
    assert.is((await attempted(context, poison, 1)).status, 'SENT')
    await until('the others', async () => (await rowsOf(context, 'beside')).every((r) => r.status === 'SENT'))
    assert.is(sink.counts().get('poison@receiver.example'), 1)
    assert.is(await deliveryRow(context, poison), undefined)
    await sql('alter table events drop constraint no_poison')
  })

  test('a message that takes long holds up its connection and nothing else', async (context) => {
    const { sink } = context
    const goOn = sink.hold()
    await sendToMany(context, 'tarpit', CONNECTIONS - 1)
    await until('they are under way', () => sink.underWay.size === CONNECTIONS - 1)
    goOn()
    const again = sink.hold()
    await until('they are through', async () =>
      (await rowsOf(context, 'tarpit')).every(({ status }) => status === 'SENT'),
    )
    again()
  })

  test('stops in the middle of its work without losing or doubling any', async (context) => {
    const { sink, app, databaseUrl } = context
    const goOn = sink.hold()
    await sendToMany(context, 'busy', 30)
    await allUnderWay(context)
    // In the middle of a look for more.
    const lock = await hold(databaseUrl, 'lock table deliveries in access exclusive mode')
    await sendMailWithoutAnswer(context)
    const stopped = app.stop()
    goOn()
    await until('the hand-overs are done', () => sink.underWay.size === 0)
    await lock.release()
    await stopped
    const rows = await rowsOf(context, 'busy')
    const sent = rows.filter(({ status }) => status === 'SENT').map(({ to_email }) => to_email)
    assert.is(sent.length, CONNECTIONS, 'what was under way, and nothing else')
    const waiting = await deliveriesOf(context, 'busy')
    assert.is(waiting.length, 30 - CONNECTIONS)
    for (const row of waiting) {
      assert.is(row.attempts, 0, 'an attempt that was none')
      assert.is(row.taken_by, null)
    }
    const arrived = [...sink.counts()].filter(([to]) => to.startsWith('busy'))
    assert.equal(arrived.map(([to]) => to).sort(), sent.sort())
    assert.equal(
      arrived.filter(([, count]) => count !== 1),
      [],
    )
  })
})

/** A request that has to wait for the table of deliveries, so that a look of the worker waits behind it. */
async function sendMailWithoutAnswer({ as, project }: Context): Promise<void> {
  const body = sendBody(project, { to: 'x@receiver.example' })
  // Its answer comes after the end of the service, if at all.
  as(project)
    .post('/v1/send', body)
    .catch(() => undefined)
}
