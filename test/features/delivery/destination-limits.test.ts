import * as assert from 'uvu/assert'
import { valuesOf } from '../../../src/db/sql.ts'
import { takeDueMail } from '../../../src/features/delivery/delivery.sql.ts'
import { DestinationLimits } from '../../../src/features/delivery/pacing/destination-limits.ts'
import type { DestinationLimit } from '../../../src/lib/net/sending-limits.ts'
import { PRIORITIES, type Priority } from '../../../src/queue/priorities.ts'
import { HOUR, SECOND } from '../../support/clock.ts'
import {
  deliveryRow,
  emailRow,
  pass,
  type SendingService,
  sendMail,
  startSending,
} from '../../support/mailing.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { type Body, type Project, until } from '../../support/service.ts'
import { newCampaign, sendNow } from '../campaigns/campaign-support.ts'

const { transactional, workflow, campaign } = PRIORITIES
const FROM = 'a@sender.example'

function limiting(limits: Record<string, DestinationLimit>, { connects = true } = {}) {
  const clock = { ms: 0 }
  const limiter = new DestinationLimits(new Map(Object.entries(limits)), { connects, now: () => clock.ms })
  /** A message that was written at this moment, or at the time that is given. */
  const message = (
    toEmail: string,
    priority: Priority = transactional,
    { from = FROM, writtenAt = clock.ms } = {},
  ) => {
    const taken = { projectId: from, priority, dueAt: new Date(clock.ms) }
    return { taken, email: { from, toEmail, createdAt: new Date(writtenAt) } }
  }
  type Message = ReturnType<typeof message>
  const ask = ({ taken, email }: Message) => limiter.putOff(taken, email)
  const leave = (one: Message) => {
    const waitMs = ask(one)
    if (waitMs === null) limiter.ended(one.taken, 50)
    return waitMs
  }
  return { clock, limiter, message, ask, leave }
}

const some = <Item>(count: number, make: (number: number) => Item): Item[] =>
  Array.from({ length: count }, (_, number) => make(number))

scenario('The limits of destinations', nothingShared, (test) => {
  test('let one second of the rate through at once, and give out turns behind it', () => {
    const { clock, message, leave } = limiting({ gmail: { perSecond: 4, connections: null } })
    const to = () => leave(message('one@gmail.com'))
    assert.equal(some(7, to), [null, null, null, null, 250, 500, 750])
    assert.is(leave(message('one@firm.example')), null, 'no other destination')
    assert.is(
      leave(message('one@gmail.com', transactional, { from: 'b@other.example' })),
      null,
      'no other sender',
    )
    clock.ms = 250
    assert.is(
      leave(message('two@googlemail.com', transactional, { writtenAt: -1_000 })),
      null,
      'its turn has come',
    )
    assert.is(
      leave(message('two@googlemail.com', transactional, { writtenAt: -1_000 })),
      750,
      'behind the last one',
    )
  })

  test('take mail of one kind in the order of its turns, and more urgent mail before all of that', () => {
    const { clock, message, leave } = limiting({ gmail: { perSecond: 1, connections: null } })
    assert.equal(
      some(4, () => leave(message('one@gmail.com', campaign))),
      [null, 1_000, 2_000, 3_000],
    )
    assert.is(leave(message('one@gmail.com', transactional)), 1_000)
    assert.is(leave(message('one@gmail.com', workflow)), 2_000, 'behind what is more urgent')
    clock.ms = 1_000
    const old = { writtenAt: -1_000 }
    assert.is(
      leave(message('one@gmail.com', campaign, old)),
      3_000,
      'the turn is left to what is more urgent',
    )
    assert.is(leave(message('one@gmail.com', transactional, old)), null)
    clock.ms = 10_000
    assert.is(leave(message('new@gmail.com', campaign)), null, 'the queue is empty')
  })

  test('put mail off by an hour at most, however much there is', () => {
    const { message, leave } = limiting({ other: { perSecond: 10, connections: null } })
    const waits = some(100_000, () => leave(message('one@firm.example', campaign)))
    assert.is(waits.at(-1), HOUR)
    assert.is(leave(message('one@firm.example')), 100)
    assert.is(leave(message('one@another.example')), null, 'each other domain is limited by itself')
  })

  test('hold connections, and let through as much as leaves at these', async () => {
    const outlook = { perSecond: 1_000, connections: 2 }
    const { limiter, message, ask } = limiting({ outlook })
    const all = some(40, () => message('one@outlook.com'))
    const through = all.filter((one) => ask(one) === null)
    assert.is(through.length, 10, 'what leaves in a quarter of a second at 50 ms each')
    assert.ok(
      through.every((one) => ask(one) === null),
      'they are asked about again, and count once',
    )
    const connected: number[] = []
    const gives: (() => void)[] = []
    for (const [number, { taken }] of through.entries()) {
      void limiter.connect(taken).then((give) => {
        connected.push(number)
        if (give) gives.push(give)
      })
    }
    await Promise.resolve().then(() => Promise.resolve())
    assert.equal(connected, [0, 1])
    gives[0]?.()
    await until('the next one has it', () => connected.length === 3)
    const behind = message('one@outlook.com')
    assert.ok((ask(behind) ?? 0) > 25)
    const [first] = through
    if (first) limiter.ended(first.taken, 50)
    assert.is(ask(message('one@outlook.com', transactional, { from: 'b@other.example' })), null)
    const mailgun = limiting({ outlook }, { connects: false })
    assert.is(some(900, () => mailgun.ask(mailgun.message('one@outlook.com'))).filter(Boolean).length, 0)
  })

  test('let no more through than leaves in a moment, so that what is held up does not leave at once', () => {
    const { clock, message, ask } = limiting({ gmail: { perSecond: 10, connections: null } })
    let through = 0
    for (; clock.ms < 60_000; clock.ms += 100) if (ask(message('one@gmail.com')) === null) through += 1
    assert.ok(through >= 10 && through <= 20, `${through}`)
  })

  test('hold the rate for a backlog that is looked for now and then, and put each message off about once', () => {
    const { clock, message, leave } = limiting({ gmail: { perSecond: 20, connections: 10 } })
    const queue = some(3_000, () => ({ dueAt: 0, writtenAt: 0 }))
    const left: number[] = []
    let asked = 0
    for (let step = 0; left.length < 3_000 && step < 3_000; step += 1) {
      // As a worker does: at 250 ms, sometimes only when the sweep comes.
      clock.ms += step % 40 === 0 ? 2_000 : 250
      for (const one of queue.filter(({ dueAt }) => dueAt <= clock.ms)) {
        asked += 1
        const given = message('one@gmail.com', campaign, one)
        given.taken.dueAt = new Date(one.dueAt)
        const waitMs = leave(given)
        one.dueAt = waitMs === null ? Number.POSITIVE_INFINITY : clock.ms + waitMs
        if (waitMs === null) left.push(clock.ms)
        assert.ok(left.length <= 20 + clock.ms / 50, `${left.length} in ${clock.ms} ms`)
      }
    }
    assert.is(left.length, 3_000)
    assert.ok(clock.ms < 1.15 * 150_000, `${clock.ms} ms`)
    assert.ok(asked < 2.2 * 3_000, `asked ${asked} times`)
  })
})

const CONNECTIONS = 8

/** One message in 20 s to Gmail, two connections to Outlook. */
async function start() {
  let most = 0
  const refuse = (to: string) => {
    const others = [...service.sink.underWay].filter((arrival) => arrival.to.endsWith('@outlook.com'))
    if (to.endsWith('@outlook.com')) most = Math.max(most, others.length + 1)
    return null
  }
  const env = {
    DESTINATION_LIMITS: 'gmail=0.05/s,outlook=1000/s:2',
    SMTP_CONNECTIONS: String(CONNECTIONS),
  }
  const service: SendingService = await startSending(env, { sink: { refuse } })
  return { ...service, mostConnections: () => most }
}

type Context = Awaited<ReturnType<typeof start>>

const TURN = 20 * SECOND + 500

const arrivedOf = ({ sink }: Context, { domain }: Project): string[] =>
  sink.arrivals.filter(({ from }) => from.endsWith(`@${domain}`)).map(({ to }) => to)

const arrivals = (context: Context, project: Project, count: number) =>
  until(`${count} have arrived`, () => {
    const found = arrivedOf(context, project)
    return found.length >= count && found
  })

scenario('A destination with limits', start, (test) => {
  test('gets no more than its rate; other destinations and other senders do not wait', async (context) => {
    const [project, other] = [await context.newProject(), await context.newProject()]
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.push(await sendMail(context, `${name}@gmail.com`, {}, project))
    await sendMail(context, 'd@firm.example', {}, project)
    await sendMail(context, 'e@gmail.com', {}, other)
    assert.equal(await arrivals(context, other, 1), ['e@gmail.com'])
    const first = await arrivals(context, project, 2)
    assert.ok(first.includes('d@firm.example'))
    const waiting = await until('two wait', async () => {
      const rows = await Promise.all(ids.map((id) => emailRow(context, id)))
      const held = rows.filter(({ error }) => error?.includes('at its limit'))
      return held.length === 2 && held
    })
    for (const { id } of waiting) assert.is((await deliveryRow(context, id)).attempts, 0)
    for (const count of [3, 4]) {
      pass({ ...context, project }, TURN)
      assert.is((await arrivals(context, project, count)).length, count)
    }
    const [sent] = await context.sql('select max(attempts) as most from emails where project_id = $1', [
      project.id,
    ])
    assert.is(sent?.most, 1)
  })

  test('lets transactional mail go before a campaign, and explains what waits', async (context) => {
    const project = await context.newProject()
    const contacts: string[] = []
    for (const email of ['k@gmail.com', 'l@gmail.com', 'm@gmail.com']) {
      const answer = await context.as(project).post('/contacts', { email, subscribed: true })
      contacts.push(answer.body.id ?? answer.body.data.id)
    }
    const { id: campaignId } = await newCampaign(context, {}, project)
    await sendNow(context, campaignId, project)
    const [early] = await arrivals(context, project, 1)
    const waiting = async () =>
      context.sql<{ contact_id: string; due_at: Date }>(
        `select e.contact_id, d.due_at from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
         where d.project_id = $1 and d.taken_by is null and d.attempts = 0 and d.due_at > now() + $2 * interval '1 millisecond'`,
        [project.id, context.clock.shift()],
      )
    const rows = await until('two wait', async () => {
      const found = await waiting()
      return found.length === 2 && found
    })
    const { body } = await context.as(project).graphql(
      `query ($campaignId: ID!, $contactId: ID!) {
        explainDelivery(campaignId: $campaignId, contactId: $contactId) { answer nextAttemptAt } }`,
      { campaignId, contactId: rows[0]?.contact_id },
    )
    const explained = body.data.explainDelivery
    assert.match(explained.answer, `waits until ${explained.nextAttemptAt}: its destination`)
    const id = await sendMail(context, 'urgent@gmail.com', {}, project)
    await until('it waits', async () => (await emailRow(context, id)).error)
    pass({ ...context, project }, TURN)
    assert.equal((await arrivals(context, project, 2)).slice(0, 2), [early, 'urgent@gmail.com'])
    for (const count of [3, 4]) {
      pass({ ...context, project }, 2 * TURN)
      await arrivals(context, project, count)
    }
  })

  test('has no more connections than it may, and the rest is left to others', async (context) => {
    const { sink, mostConnections, newProject } = context
    const project = await newProject()
    const release = sink.hold()
    const names = some(20, (number) => `c${number}@outlook.com`)
    for (const name of names) await sendMail(context, name, {}, project)
    for (const name of ['x', 'y', 'z']) await sendMail(context, `${name}@firm.example`, {}, project)
    await until('all others are there', () => {
      const there = [...sink.underWay].map(({ to }) => to)
      return there.length === 5 && there.filter((to) => to.endsWith('@firm.example')).length === 3
    })
    release()
    await until('all arrive', () => {
      pass({ ...context, project }, SECOND)
      return names.every((name) => sink.arrivals.some(({ to }) => to === name))
    })
    assert.is(mostConnections(), 2)
  })

  test('costs nothing while 100,000 messages wait for it', async (context) => {
    const { sql, newProject, clock } = context
    const project = await newProject()
    await sql(
      `insert into deliveries (project_id, email_id, priority, size, due_at)
       select $1, gen_random_uuid(), n % 3, 1000, now() + $2 * interval '1 millisecond' + interval '1 hour'
       from generate_series(1, 100000) n`,
      [project.id, clock.shift()],
    )
    await sql('analyze deliveries')
    const longAgo = new Date(0)
    const values = valuesOf(takeDueMail, {
      ...{ clockShift: clock.shift(), defaultRate: 50, projectIds: [project.id], jobIds: [project.id] },
      ...{
        attempts: [0],
        wanted: [25],
        lowest: [2],
        since0: [longAgo],
        since1: [longAgo],
        since2: [longAgo],
      },
    })
    const [explained] = await sql<Body>(
      `explain (analyze, buffers, timing off, format json) ${takeDueMail.text}`,
      values,
    )
    const { Plan: plan } = explained['QUERY PLAN'][0]
    const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    assert.ok(pages < 100, `${pages} pages were read`)
    await sendMail(context, 'fresh@firm.example', {}, project)
    assert.equal(await arrivals(context, project, 1), ['fresh@firm.example'])
    await sql('delete from deliveries where project_id = $1', [project.id])
  })
})
