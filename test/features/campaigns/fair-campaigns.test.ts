import * as assert from 'uvu/assert'
import { type SendingService, sendMail, startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { startService, until } from '../../support/service.ts'
import { assertAddsUp, newCampaign, newContacts, reached, sendNow } from './campaign-support.ts'

type Context = SendingService

const start = () => startSending({ SMTP_CONNECTIONS: '1' })

/** The places of messages among all that have arrived. */
const placesOf = ({ sink }: Context, prefix: string): number[] =>
  sink.arrivals.flatMap(({ to }, place) => (to.startsWith(prefix) ? [place] : []))

scenario('Campaigns beside each other', start, (test) => {
  test('of two projects go in turns: a small one is not behind a large one', async (context) => {
    const [large, small] = [await context.newProject('Large'), await context.newProject('Small')]
    await newContacts(context, 300, { prefix: 'large-' }, large)
    await newContacts(context, 10, { prefix: 'small-' }, small)
    const first = await newCampaign(context, {}, large)
    const second = await newCampaign(context, {}, small)
    const release = context.sink.hold()
    await sendNow(context, first.id, large)
    await until('the large one is under way', () => context.sink.underWay.size === 1)
    await sendNow(context, second.id, small)
    await until('the small one is queued', async () => {
      const rows = await context.sql('select from deliveries where campaign_id = $1', [second.id])
      return rows.length === 10
    })
    release()
    await reached(context, second.id, 'SENT', small)
    await reached(context, first.id, 'SENT', large)
    const places = placesOf(context, 'small-')
    assert.is(places.length, 10)
    assert.ok(Math.max(...places) < 200, `the small campaign ended at place ${Math.max(...places)}`)
    await assertAddsUp(context, first.id, large)
  })

  test('let a transactional message of their project go first', async (context) => {
    const project = await context.newProject('Busy')
    await newContacts(context, 200, { prefix: 'busy-' }, project)
    const { id } = await newCampaign(context, {}, project)
    const release = context.sink.hold()
    await sendNow(context, id, project)
    await until('all are queued', async () => {
      const rows = await context.sql('select from deliveries where campaign_id = $1', [id])
      return rows.length === 200
    })
    const before = context.sink.arrivals.length
    await sendMail(context, 'urgent@receiver.example', {}, project)
    release()
    await reached(context, id, 'SENT', project)
    const [place = 0] = placesOf(context, 'urgent@')
    // What was taken before it came leaves first: two turns of 25 for the one connection at most.
    assert.ok(place - before <= 60, `it arrived at place ${place - before}`)
  })

  test('write to nobody twice when two workers share one', async (context) => {
    const project = await context.newProject('Shared')
    await newContacts(context, 150, { prefix: 'shared-' }, project)
    const { id } = await newCampaign(context, {}, project)
    const other = await startService({
      DATABASE_URL: context.databaseUrl,
      DATA_DIR: context.app.config.dataDir,
      MAIL_PROVIDER: 'smtp',
      SMTP_URL: context.sink.url,
    })
    try {
      await sendNow(context, id, project)
      const found = await reached(context, id, 'SENT', project)
      assert.is(found.sentCount, 150)
      const to = context.sink.arrivals.filter((one) => one.to.startsWith('shared-')).map((one) => one.to)
      assert.is(to.length, 150)
      assert.is(new Set(to).size, 150)
      await assertAddsUp(context, id, project)
    } finally {
      await other.stop()
    }
  })

  test('of one project share its rate: together they hand over no more in a second than it may', async (context) => {
    const project = await context.newProject('Slow')
    await context.sql('update projects set send_rate_per_second = 5 where id = $1', [project.id])
    await newContacts(context, 8, { prefix: 'slow-' }, project)
    const campaigns = [await newCampaign(context, {}, project), await newCampaign(context, {}, project)]
    const began = Math.floor(Date.now() / 1000)
    for (const { id } of campaigns) await sendNow(context, id, project)
    for (const { id } of campaigns) assert.is((await reached(context, id, 'SENT', project)).sentCount, 8)
    const sent = await context.sql<{ at: number }>(
      `select floor(extract(epoch from created_at))::int as at from events
       where project_id = $1 and name = 'email.sent' order by created_at`,
      [project.id],
    )
    assert.is(sent.length, 16)
    // What was taken may be settled much later, but not earlier: so many at most are settled in the first seconds.
    for (const [index, { at }] of sent.entries())
      assert.ok(at - began >= Math.floor(index / 5), `message ${index}`)
  })

  test('of ten projects go in turns', async (context) => {
    const projects = []
    for (let number = 0; number < 10; number += 1) {
      const project = await context.newProject(`Turn ${number}`)
      await newContacts(context, 60, { prefix: `turn${number}-` }, project)
      projects.push({ project, id: (await newCampaign(context, {}, project)).id })
    }
    const before = context.sink.arrivals.length
    const release = context.sink.hold()
    for (const { id, project } of projects) {
      await sendNow(context, id, project)
      await until('it is queued', async () => {
        const rows = await context.sql('select from deliveries where campaign_id = $1', [id])
        return rows.length === 60
      })
    }
    release()
    for (const { id, project } of projects) await reached(context, id, 'SENT', project)
    // Everybody has had a turn before anybody is done: turns are of 25, and two may be under way from the beginning.
    const half = context.sink.arrivals.slice(before, before + 400).map(({ to }) => to.split('-')[0])
    assert.is(new Set(half).size, 10)
  })
})
