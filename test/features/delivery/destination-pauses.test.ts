import * as assert from 'uvu/assert'
import { startApp } from '../../../src/app.ts'
import { mailboxProviderOf } from '../../../src/changes/mailbox-providers.ts'
import { DestinationPauses } from '../../../src/features/delivery/pacing/destination-pauses.ts'
import { PRIORITIES } from '../../../src/queue/priorities.ts'
import type { Refusal } from '../../support/mail-sink.ts'
import { attempted, deliveryRow, emailRow, pass, sendMail, startSending } from '../../support/mailing.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { until } from '../../support/service.ts'

const { transactional, campaign } = PRIORITIES
const FROM = 'a@sender.example'

const mailTo = (toEmail: string, from = FROM) => ({ from, toEmail })

function pausing(firstMs = 10_000) {
  const clock = { ms: 0 }
  return { clock, pauses: new DestinationPauses(firstMs, () => clock.ms) }
}

scenario('The pauses of destinations', nothingShared, (test) => {
  test('A pause holds for one sender domain and all domains of a mailbox provider', () => {
    const { pauses } = pausing()
    assert.is(pauses.askedToSlowDown(mailTo('one@gmail.com')), 10_000)
    assert.is(pauses.putOff(mailTo('two@googlemail.com'), transactional), 10_000)
    assert.is(pauses.putOff(mailTo('two@gmail.com', 'b@other.example'), transactional), null)
    assert.is(pauses.putOff(mailTo('two@firm.example'), transactional), null)
  })

  test('Pauses double to ten minutes, count what was under way once, and end with a message that arrives', () => {
    const { clock, pauses } = pausing()
    const to = mailTo('one@firm.example')
    const lengths: (number | null)[] = []
    for (let times = 0; times < 8; times += 1) {
      const pauseMs = pauses.askedToSlowDown(to)
      assert.is(pauses.askedToSlowDown(to), null)
      pauses.accepted(to)
      assert.is(pauses.putOff(to, transactional), pauseMs)
      lengths.push(pauseMs)
      clock.ms += pauseMs ?? 0
    }
    const seconds = [10, 20, 40, 80, 160, 320, 600, 600]
    assert.equal(
      lengths,
      seconds.map((each) => each * 1_000),
    )
    assert.is(pauses.putOff(to, transactional), null)
    pauses.accepted(to)
    assert.is(pauses.askedToSlowDown(to), 10_000)
  })

  test('Mail of campaigns follows one by one, behind all other mail and within an hour', () => {
    const { pauses } = pausing()
    const to = mailTo('one@firm.example')
    pauses.askedToSlowDown(to)
    assert.equal(
      [1, 2, 3].map(() => pauses.putOff(to, campaign)),
      [10_020, 10_040, 10_060],
    )
    assert.is(pauses.putOff(to, transactional), 10_000)
    for (let times = 0; times < 200_000; times += 1) pauses.putOff(to, campaign)
    assert.is(pauses.putOff(to, campaign), 3_610_000)
  })

  test('No pause begins where they are off', () => {
    const { pauses } = pausing(0)
    assert.is(pauses.askedToSlowDown(mailTo('one@gmail.com')), null)
    assert.is(pauses.putOff(mailTo('one@gmail.com'), transactional), null)
  })

  test('Mailbox providers are told by the whole domain', () => {
    const providers = [
      'a@gmail.com',
      'a@live.co.uk',
      'a@yahoo.de',
      'a@me.com',
      'a@notgmail.com',
      'a@gmail.com.evil.example',
    ]
    assert.equal(providers.map(mailboxProviderOf), ['GMAIL', 'OUTLOOK', 'YAHOO', 'APPLE', null, null])
  })
})

const SLOWER: Refusal = { at: 'DATA', code: 421, text: '4.7.28 Unusual rate of mail' }
const FULL: Refusal = { at: 'RCPT', code: 452, text: '4.2.2 Mailbox full' }

const CONNECTIONS = 4

async function start() {
  const slow = { is: true }
  const refuse = (to: string, attempt: number): Refusal | null => {
    if (to.startsWith('full@') && attempt === 1) return FULL
    return to.endsWith('@gmail.com') && slow.is ? SLOWER : null
  }
  const env = { DESTINATION_PAUSE_SECONDS: '60', SMTP_CONNECTIONS: String(CONNECTIONS) }
  return { ...(await startSending(env, { sink: { refuse } })), slow }
}

scenario('A destination that asks for less mail', start, (test) => {
  test('holds up only its own mail, costs that no attempt, and has it when it recovers', async (context) => {
    const { sink, slow, newProject } = context
    const first = await sendMail(context, 'first@gmail.com')
    assert.match((await attempted(context, first, 1)).error, /4\.7\.28/)

    const waiting = await sendMail(context, 'waiting@googlemail.com')
    const { error } = await until('the message is put off', async () => {
      const row = await emailRow(context, waiting)
      return row.error && row
    })
    assert.match(error, /asked for less mail/)
    assert.is((await deliveryRow(context, waiting)).attempts, 0)

    const arrived = (to: string) => until(to, () => sink.arrivals.some((arrival) => arrival.to === to))
    await sendMail(context, 'other@firm.example')
    await arrived('other@firm.example')
    // Another sender has not been told.
    const second = await newProject()
    const tried = await sendMail(context, 'again@gmail.com', {}, second)
    assert.match((await attempted(context, tried, 1)).error, /4\.7\.28/)

    slow.is = false
    assert.not.ok(sink.arrivals.some(({ to }) => to.endsWith('mail.com')))
    pass(context, 61_000)
    await arrived('waiting@googlemail.com')
    const sent = await until('it is settled', async () => {
      const row = await emailRow(context, waiting)
      return row.status === 'SENT' && row
    })
    assert.is(sent.attempts, 1)
  })

  test('is told of mail that is older than a day, whose attempts have to come to an end', async (context) => {
    const { slow, sql, newProject } = context
    slow.is = true
    const project = await newProject()
    const first = await sendMail(context, 'first@gmail.com', {}, project)
    await attempted(context, first, 1)
    const old = await sendMail(context, 'old@gmail.com', {}, project)
    await until('the message is put off', async () => (await emailRow(context, old)).error)
    await sql(`update emails set created_at = created_at - interval '25 hours' where id = $1`, [old])
    await sql('update deliveries set due_at = now() where email_id = $1', [old])
    assert.match((await attempted(context, old, 1)).error, /4\.7\.28/)
  })

  test('is not told by one full mailbox', async (context) => {
    const full = await sendMail(context, 'full@other.example')
    await attempted(context, full, 1)
    await sendMail(context, 'neighbour@other.example')
    await until('the neighbour has its mail', () =>
      context.sink.arrivals.some(({ to }) => to === 'neighbour@other.example'),
    )
  })

  test('is found out by each of two workers, and no more often than with what they have under way', async (context) => {
    const { app, clock, sink, slow, newProject } = context
    const second = await startApp({ ...app.config, port: 0 }, app.services.log, clock)
    try {
      const project = await newProject()
      slow.is = true
      const names = Array.from({ length: 60 }, (_, number) => `two-${number}@gmail.com`)
      const ids: string[] = []
      for (const to of names) ids.push(await sendMail(context, to, {}, project))
      await until('all have been refused or put off', async () => {
        const rows = await Promise.all(ids.map((id) => emailRow(context, id)))
        return rows.every(({ error }) => error !== null)
      })
      // Mail of the tests before this one is tried again meanwhile.
      const tries = sink.refused.filter(({ to }) => names.includes(to)).length
      assert.ok(tries >= 1 && tries <= 2 * CONNECTIONS, `${tries} tries`)
      slow.is = false
      await until('all have arrived', () => {
        pass({ ...context, project }, 61_000)
        return names.every((name) => sink.arrivals.some(({ to }) => to === name))
      })
      assert.is(sink.arrivals.filter(({ to }) => names.includes(to)).length, names.length)
    } finally {
      await second.stop()
    }
  })
})
