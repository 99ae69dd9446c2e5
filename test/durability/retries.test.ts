import * as assert from 'uvu/assert'
import { mailDeliveryWork } from '../../src/features/delivery/mail-delivery.ts'
import { setProjectDisabled } from '../../src/features/projects/projects.ts'
import { HOUR, MINUTE, SECOND } from '../support/clock.ts'
import type { Refusal } from '../support/mail-sink.ts'
import {
  attempted,
  emailEvents,
  emailRow,
  pass,
  type SendingService,
  sendMail,
  startSending,
} from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, until } from '../support/service.ts'

type Context = SendingService & { refusals: Map<string, (attempt: number) => Refusal | null> }

/** A service that sends to an SMTP server whose mood the tests set, recipient by recipient. */
async function start(): Promise<Context> {
  const refusals: Context['refusals'] = new Map()
  const refuse = (to: string, attempt: number) => refusals.get(to)?.(attempt) ?? null
  return { ...(await startSending({}, { sink: { refuse } })), refusals }
}

const TRY_LATER: Refusal = { at: 'DATA', code: 451, text: '4.3.0 Mailbox busy, come back later' }
const NEVER: Refusal = { at: 'RCPT', code: 550, text: '5.1.1 No such person here' }

/** By the database's clock, which the test's is ahead of by what it was moved. */
async function waitOf(context: Context, id: string): Promise<number> {
  const [row] = await context.sql<{ wait: number }>(
    `select (1000 * extract(epoch from due_at - now()))::float8 - $2 as wait from deliveries where email_id = $1`,
    [id, context.clock.shift()],
  )
  return row?.wait ?? Number.NaN
}
/** As docs/sending.md promises it; each a fifth more or less. */
const SCHEDULE_MINUTES = [1, 5, 15, 30, 60, 120, 240, 480, 480]

const namesOf = (events: Body[]): string[] => events.map(({ name }) => name)

/** Lets the attempts fail one after the other until the mail is given up. Returns the waits between them. */
async function failToTheEnd(context: Context, id: string): Promise<number[]> {
  const waits: number[] = []
  for (let row = await attempted(context, id, 1); row.status === 'PENDING'; ) {
    assert.match(row.error, 'Mailbox busy, come back later')
    const wait = await waitOf(context, id)
    waits.push(wait)
    pass(context, wait - 2 * SECOND)
    assert.is((await emailRow(context, id)).status, 'PENDING', 'tried too early')
    pass(context, 2 * SECOND)
    row = await attempted(context, id, waits.length + 1)
  }
  return waits
}

scenario('Retries', start, (test) => {
  test('a temporary refusal is tried again for about a day, then the mail has failed', async (context) => {
    const { refusals, sink, clock } = context
    refusals.set('busy@receiver.example', () => TRY_LATER)
    const startedAt = clock.now().getTime()
    const id = await sendMail(context, 'busy@receiver.example')
    const waits = await failToTheEnd(context, id)
    const row = await emailRow(context, id)
    assert.is(row.status, 'FAILED')
    assert.match(row.error, 'Mailbox busy, come back later')
    assert.is(sink.attemptsFor('busy@receiver.example'), waits.length + 1)
    assert.is(waits.length, SCHEDULE_MINUTES.length)
    for (const [index, minutes] of SCHEDULE_MINUTES.entries()) {
      const wait = (waits[index] ?? 0) / MINUTE
      // A moment has passed since it was set.
      assert.ok(wait > 0.79 * minutes - 0.1 && wait <= 1.2 * minutes, `wait ${index + 1}: ${wait} minutes`)
    }
    const hours = (clock.now().getTime() - startedAt) / HOUR
    assert.ok(hours > 18 && hours < 30, `given up after ${hours} h`)
    assert.equal(namesOf(await emailEvents(context, id)), ['email.failed'])
    const attempts = sink.refused.filter(({ to }) => to === 'busy@receiver.example')
    assert.equal([...new Set(attempts.map(({ messageId }) => messageId))], [row.message_id])
  })

  test('what failed together does not come back together', async (context) => {
    const { refusals } = context
    const addresses = Array.from({ length: 8 }, (_, index) => `jitter${index}@receiver.example`)
    for (const address of addresses) refusals.set(address, () => TRY_LATER)
    const ids = await Promise.all(addresses.map((address) => sendMail(context, address)))
    await Promise.all(ids.map((id) => attempted(context, id, 1)))
    const waits = await Promise.all(ids.map((id) => waitOf(context, id)))
    const seconds = waits.map((wait) => Math.round(wait / SECOND))
    assert.ok(new Set(seconds).size > 2, seconds.join())
    assert.ok(Math.min(...seconds) >= 40 && Math.max(...seconds) <= 72, seconds.join())
  })

  test('a success at the third attempt is a success', async (context) => {
    const { refusals, sink } = context
    refusals.set('third@receiver.example', (attempt) => (attempt < 3 ? TRY_LATER : null))
    const id = await sendMail(context, 'third@receiver.example')
    await attempted(context, id, 1)
    pass(context, 2 * MINUTE)
    await attempted(context, id, 2)
    pass(context, 7 * MINUTE)
    const row = await attempted(context, id, 3)
    assert.is(row.status, 'SENT')
    assert.is(row.error, null)
    assert.ok(row.sent_at)
    assert.equal(namesOf(await emailEvents(context, id)), ['email.sent'])
    const messages = [...sink.refused, ...sink.arrivals].filter(({ to }) => to === 'third@receiver.example')
    assert.equal(
      messages.map(({ messageId }) => messageId),
      Array(3).fill(row.message_id),
    )
  })

  test('a recipient that is refused for good has failed at once, with the reason', async (context) => {
    const { refusals, sink } = context
    refusals.set('nobody@receiver.example', () => NEVER)
    const id = await sendMail(context, 'nobody@receiver.example')
    const row = await attempted(context, id, 1)
    assert.is(row.status, 'FAILED')
    assert.match(row.error, '5.1.1 No such person here')
    const [event] = await emailEvents(context, id)
    assert.is(event.name, 'email.failed')
    assert.match(event.data.reason, '5.1.1 No such person here')
    pass(context, 48 * HOUR)
    await attempted(context, await sendMail(context, 'somebody@receiver.example'), 1)
    assert.is(sink.attemptsFor('nobody@receiver.example'), 1)
  })

  test('a contact that unsubscribes while marketing mail waits does not get it', async (context) => {
    const { refusals, sink, as, project, sql } = context
    refusals.set('leaver@receiver.example', (attempt) => (attempt === 1 ? TRY_LATER : null))
    const from = `news@${project.domain}`
    const news = { name: 'News', subject: 'News', body: '<p>News</p>', from, type: 'MARKETING' }
    const template = await as(project).post('/templates', news)
    const more = { template: template.body.id, subscribed: true }
    const id = await sendMail(context, 'leaver@receiver.example', more)
    await attempted(context, id, 1)
    await sql(`update contacts set subscribed = false where email = 'leaver@receiver.example'`)
    pass(context, 2 * MINUTE)
    const row = await attempted(context, id, 2)
    assert.is(row.status, 'SUPPRESSED')
    assert.match(row.error, 'unsubscribed')
    assert.is(sink.attemptsFor('leaver@receiver.example'), 1)
    assert.equal(namesOf(await emailEvents(context, id)), ['email.suppressed'])
  })

  test('mail of a disabled project waits, and leaves once the project is enabled', async (context) => {
    const { refusals, sink, ctx, newProject, app } = context
    const project = await newProject('Paused')
    refusals.set('patient@receiver.example', (attempt) => (attempt === 1 ? TRY_LATER : null))
    const id = await sendMail(context, 'patient@receiver.example', {}, project)
    await attempted(context, id, 1)
    await setProjectDisabled(ctx(project.id), project.id, 'EMAIL_REPUTATION')
    pass(context, 5 * HOUR)
    // Mail of another project passes. The worker takes the second one in another look than the first one, so by
    // then it has also passed by what is tested here.
    for (const other of ['first', 'second']) {
      await attempted(context, await sendMail(context, `${other}@receiver.example`), 1)
    }
    assert.is((await emailRow(context, id)).status, 'PENDING')
    assert.is(sink.attemptsFor('patient@receiver.example'), 1)
    await setProjectDisabled(ctx(project.id), project.id, null)
    app.services.work.ask(mailDeliveryWork, { projectId: project.id })
    assert.is((await attempted(context, id, 2)).status, 'SENT')
    assert.is(sink.counts().get('patient@receiver.example'), 1)
  })

  test('mail whose every attempt was cut off is given up as well', async (context) => {
    const { refusals, sink, sql } = context
    refusals.set('cursed@receiver.example', () => TRY_LATER)
    const id = await sendMail(context, 'cursed@receiver.example')
    await attempted(context, id, 1)
    // As after ten workers that have died with it in their hands.
    await sql('update deliveries set attempts = 10, due_at = now() where email_id = $1', [id])
    pass(context, 0)
    const row = await until('the end', async () => {
      const found = await emailRow(context, id)
      return found.status === 'FAILED' && found
    })
    assert.match(row.error, 'cut off')
    assert.is(sink.attemptsFor('cursed@receiver.example'), 1)
  })
})
