import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { HOUR, SECOND } from '../support/clock.ts'
import { hold } from '../support/held-lock.ts'
import { type MailSink, type Refusal, startMailSink } from '../support/mail-sink.ts'
import { attempted, emailRow, sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'

type Context = Service & { sink: MailSink }

const CONNECTIONS = 4
const TRY_LATER: Refusal = { at: 'RCPT', code: 450, text: '4.2.0 Greylisted' }

/** A service whose hand-overs the tests can hold in the middle. */
async function start(): Promise<Context> {
  const sink = await startMailSink({
    refuse: (to, attempt) => (to.startsWith('later') && attempt === 1 ? TRY_LATER : null),
  })
  const service = await startService({
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: String(CONNECTIONS),
  })
  return {
    ...service,
    sink,
    stop: async () => {
      await service.stop()
      await sink.stop()
    },
  }
}

/** Sends one message to each of `count` people in one request. */
async function sendToMany({ call, project }: Context, name: string, count: number): Promise<void> {
  const to = Array.from({ length: count }, (_, index) => `${name}${index}@receiver.example`)
  const body = { to, from: `hello@${project.domain}`, subject: 'Many', body: '<p>Many</p>' }
  const answer = await call('POST', '/v1/send', { key: project.secret, body })
  assert.is(answer.status, 200, answer.text)
}

const rowsOf = ({ sql }: Context, name: string) =>
  sql('select * from emails where to_email like $1', [`${name}%`])

const allUnderWay = ({ sink }: Context) =>
  until('every connection is busy', () => sink.underWay.size === CONNECTIONS)

scenario('The delivery worker', start, (test) => {
  test('hands nothing over whose lease has run out, and settles nothing that is another one’s', async (context) => {
    const { sink, sql, clock } = context
    const goOn = sink.hold()
    await sendToMany(context, 'stalled', 20)
    await allUnderWay(context)
    await until('all claimed', async () =>
      (await rowsOf(context, 'stalled')).every((r) => r.status === 'SENDING'),
    )
    // Another worker has taken everything over while this one was cut off.
    const other = randomUUID()
    const later = new Date(clock.now().getTime() + HOUR)
    await sql(`update emails set claim_id = $1, lease_until = $2 where to_email like 'stalled%'`, [
      other,
      later,
    ])
    clock.advance(40 * SECOND)
    goOn()
    await attempted(context, await sendMail(context, 'fresh@receiver.example'), 1)
    const stalled = [...sink.counts()].filter(([to]) => to.startsWith('stalled'))
    assert.is(stalled.length, CONNECTIONS, 'only what was under way')
    const rows = await rowsOf(context, 'stalled')
    assert.ok(rows.every(({ status, claim_id }) => status === 'SENDING' && claim_id === other))
    await sql(`delete from emails where to_email like 'stalled%'`)
  })

  test('keeps what it holds, and lets go of a claim whose answer never reached it', async (context) => {
    const { sink, sql, clock } = context
    const lost = await sendMail(context, 'later-lost@receiver.example')
    await attempted(context, lost, 1)
    const goOn = sink.hold()
    const held = await sendMail(context, 'held@receiver.example')
    await until('the hand-over', () => sink.counts().has('held@receiver.example'))
    const before = await emailRow(context, held)
    // As when the connection broke after the commit of the claim.
    await sql(`update emails set status = 'SENDING', claim_id = $2, lease_until = $3 where id = $1`, [
      lost,
      before.claim_id,
      before.lease_until,
    ])
    await until(
      'the renewal of the lease',
      async () => (await emailRow(context, held)).lease_until > before.lease_until,
      15_000,
    )
    assert.equal((await emailRow(context, lost)).lease_until, before.lease_until)
    goOn()
    await attempted(context, held, 1)
    clock.advance(30 * SECOND)
    assert.is((await attempted(context, lost, 2)).status, 'SENT')
    assert.is(sink.counts().get('held@receiver.example'), 1)
    assert.is(sink.counts().get('later-lost@receiver.example'), 1)
  })

  test('does not hand over again what it is still handing over when its own lease ran out', async (context) => {
    const { sink, clock } = context
    const goOn = sink.hold()
    const id = await sendMail(context, 'slow@receiver.example')
    await until('the hand-over', () => sink.counts().has('slow@receiver.example'))
    await until('the message is taken over', async () => {
      const row = await emailRow(context, id)
      if (row.attempts > 1) return true
      // Renewals are made by the real time, and may fall in between.
      if (row.lease_until > clock.now()) clock.advance(40 * SECOND)
      return false
    })
    goOn()
    assert.is((await attempted(context, id, 2)).status, 'SENT')
    assert.is(sink.counts().get('slow@receiver.example'), 1)
  })

  test('goes on when the database refuses one outcome', async (context) => {
    const { sink, sql } = context
    await sql(`alter table events add constraint no_poison check (data->>'subject' <> 'poison')`)
    const goOn = sink.hold()
    const poison = await sendMail(context, 'poison@receiver.example', { subject: 'poison' })
    await sendToMany(context, 'beside', CONNECTIONS - 1)
    await allUnderWay(context)
    goOn()
    await until('the others', async () => (await rowsOf(context, 'beside')).every((r) => r.status === 'SENT'))
    const ids = await Promise.all([1, 2, 3].map((n) => sendMail(context, `behind${n}@receiver.example`)))
    for (const id of ids) assert.is((await attempted(context, id, 1)).status, 'SENT')
    assert.is((await emailRow(context, poison)).status, 'SENDING')
    await sql('alter table events drop constraint no_poison')
  })

  test('stops in the middle of its work without losing or doubling any', async (context) => {
    const { sink, app, databaseUrl } = context
    const goOn = sink.hold()
    // Fewer than it may claim, so that it goes on looking for more.
    await sendToMany(context, 'busy', 30)
    await allUnderWay(context)
    // In the middle of a look for more.
    const lock = await hold(databaseUrl, 'lock table emails in access exclusive mode')
    await lock.waiters(1)
    const stopped = app.stop()
    goOn()
    await until('the hand-overs are done', () => sink.underWay.size === 0)
    await lock.release()
    await stopped
    const rows = await rowsOf(context, 'busy')
    const sent = rows.filter(({ status }) => status === 'SENT').map(({ to_email }) => to_email)
    const waiting = rows.filter(({ status }) => status === 'PENDING')
    assert.is(sent.length, CONNECTIONS, 'what was under way, and nothing else')
    assert.is(waiting.length, 30 - CONNECTIONS)
    for (const row of waiting) {
      assert.is(row.attempts, 0, 'an attempt that was none')
      assert.is(row.claim_id, null)
    }
    const arrived = [...sink.counts()].filter(([to]) => to.startsWith('busy'))
    assert.equal(arrived.map(([to]) => to).sort(), sent.sort())
    assert.equal(
      arrived.filter(([, count]) => count !== 1),
      [],
    )
  })
})
