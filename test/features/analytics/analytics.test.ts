import * as assert from 'uvu/assert'
import { foldTalliesJob } from '../../../src/features/analytics/fold-tallies.job.ts'
import { emailRow } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { runs, seeded } from '../../support/seeded.ts'
import { type Body, type Service, until } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { newCampaign, reached, sendNow } from '../campaigns/campaign-support.ts'
import { DAY, newContacts, record } from '../events/event-support.ts'
import { ask, mailed, startTracking, trackedIn } from '../tracking/tracking-support.ts'
import { asked, happened, type MailEvent, read, recountDays, recountHours } from './analytics-support.ts'

/** A zone without another offset in summer, one with, and two whose offsets are no whole hours. */
const ZONES = ['UTC', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe']
const ADDRESSES = {
  GMAIL: 'ada@gmail.com',
  OUTLOOK: 'grace@hotmail.co.uk',
  YAHOO: 'alan@yahoo.fr',
  APPLE: 'edsger@icloud.com',
  OTHER: 'barbara@gmail.com.example.org',
}

const timeless = (rows: Body[]) =>
  rows.filter(({ date, hour, ...counts }) => Object.values(counts).some(Boolean))

/** Every number has to be what a look at every event says. */
async function assertRecount(service: Service): Promise<void> {
  const { project } = service
  for (const tz of ZONES) {
    const series = await read(service, `/analytics/timeseries?tz=${tz}`)
    assert.is(series.length, 30)
    const days: Body[] = await recountDays(service, project, tz)
    const inRange = timeless(days).filter(({ date }) => date >= series[0].date)
    assert.equal(timeless(series), inRange, tz)
    const { mailByHour } = await asked(
      service,
      `{ mailByHour(tz: "${tz}", startDate: "${days[0].date}") { hour opened clicked opens clicks } }`,
    )
    const hours: Body[] = await recountHours(service, project, tz)
    assert.equal(
      timeless(mailByHour),
      hours
        .map(({ hour, opens, clicks, totalOpens, totalClicks }) => ({
          ...{ hour, opened: opens, clicked: clicks, opens: totalOpens, clicks: totalClicks },
        }))
        .filter(({ hour, ...counts }) => Object.values(counts).some(Boolean)),
      `hours in ${tz}`,
    )
  }
}

const folded = async (service: Service): Promise<boolean> =>
  (await service.sql('select from mail_tallies limit 1')).length === 0

scenario('Statistics of mail', startTracking, (test) => {
  test('agree with a recount of the events, whatever happens in whichever order', async (service) => {
    await assertMailCounted(service)
    await seeded(async (random) => {
      const ids = Object.values(await mails(service))
      const kinds: ((first: boolean) => Pick<MailEvent, 'name' | 'data'>)[] = [
        () => ({ name: 'email.delivery', data: {} }),
        () => ({ name: 'email.bounce', data: { bounceType: 'Permanent' } }),
        () => ({ name: 'email.bounce', data: { bounceType: 'Transient' } }),
        () => ({ name: 'email.complaint', data: {} }),
        () => ({ name: 'email.open', data: { isFirst: false, bot: true } }),
        (isFirst) => ({ name: 'email.open', data: { isFirst } }),
        (isFirst) => ({ name: 'email.click', data: { isFirst, link: 'https://shop.example/' } }),
        () => ({ name: 'email.sent', data: { sourceType: 'TEST' } }),
      ]
      for (let round = 0; round < runs(40); round += 1) {
        const events = Array.from({ length: random.between(1, 12) }, () => ({
          emailId: ids[random.between(0, ids.length - 1)] ?? '',
          at: new Date(service.clock.now().getTime() - random.between(0, 35 * DAY)),
          ...(kinds[random.between(0, kinds.length - 1)] ?? kinds[0])?.(random.between(0, 1) === 1),
        })) as MailEvent[]
        await happened(service, events)
        if (random.between(0, 3) === 0) await workThrough(service, foldTalliesJob)
      }
    })
    await assertRecount(service)
    await until('all is folded', () => folded(service))
    await assertRecount(service)
    const stats = await read(service, '/activity/stats')
    const series: Body[] = await read(service, '/analytics/timeseries')
    const sum = (name: string) => series.reduce((total, day) => total + day[name], 0)
    assert.equal(
      [stats.totalEmailsSent, stats.totalEmailsOpened, stats.totalEmailsClicked, stats.totalEmailsBounced],
      [sum('sent'), sum('opens'), sum('clicks'), sum('bounces')],
    )
  })

  test('name the links of a campaign that people followed', async (service) => {
    const project = await service.newProject()
    await service.sql(`update projects set tracking = 'ENABLED' where id = $1`, [project.id])
    const own = { ...service, project, as: (who = project) => service.as(who) } as Service
    await newContacts(own, 2, project)
    const body = '<p><a href="https://shop.example/a">A</a> <a href="https://shop.example/b">B</a></p>'
    const campaign = await newCampaign(own, { body })
    await sendNow(own, campaign.id)
    await reached(own, campaign.id, 'SENT')
    service.clock.advance(60_000)
    const { body: mailbox } = await service.call('GET', '/mailbox/messages?limit=100')
    const htmls: string[] = mailbox.data
      .filter(({ subject }: Body) => subject.startsWith('Spring'))
      .map(({ html }: Body) => html)
    assert.is(htmls.length, 2)
    for (const [index, html] of htmls.entries()) {
      const { links } = trackedIn(service, html)
      await ask(service, links[0] ?? '')
      // Who follows all links at once is a machine.
      service.clock.advance(60_000)
      if (index === 0) await ask(service, links[1] ?? '')
    }
    service.clock.advance(10_000)
    const links = await until('three clicks', async () => {
      const { campaignLinks } = await asked(
        own,
        `{ campaignLinks(id: "${campaign.id}") { link clicks botClicks } }`,
      )
      return campaignLinks.reduce((sum: number, { clicks }: Body) => sum + clicks, 0) === 3 && campaignLinks
    })
    assert.equal(links, [
      { link: 'https://shop.example/a', clicks: 2, botClicks: 0 },
      { link: 'https://shop.example/b', clicks: 1, botClicks: 0 },
    ])
    const [top] = await read(own, '/analytics/top-campaigns?metric=clicks&limit=5')
    assert.equal([top.id, top.clickedCount, top.clickRate], [campaign.id, 2, 100])
    const overview = await read(own, '/analytics/campaign-stats')
    assert.equal(overview, { total: 1, active: 0, completed: 1, averageOpenRate: 0, averageClickRate: 100 })
  })
})

const MAILS = new WeakMap<Service, Promise<Record<string, string>>>()

/** A message to each provider, which has left. */
function mails(service: Service): Promise<Record<string, string>> {
  const known = MAILS.get(service) ?? sendAll(service)
  MAILS.set(service, known)
  return known
}

async function sendAll(service: Service): Promise<Record<string, string>> {
  const entries: [string, string][] = []
  for (const [provider, to] of Object.entries(ADDRESSES)) {
    const mail = await mailed(service, to)
    await ask(service, mail.pixel)
    if (provider === 'GMAIL') await ask(service, mail.links[0] ?? '')
    entries.push([provider, mail.id])
  }
  service.clock.advance(10_000)
  await until(
    'opens are counted',
    async () => (await emailRow(service, entries.at(-1)?.[1] ?? '')).opens === 1,
  )
  return Object.fromEntries(entries)
}

/** Mail that was really sent and opened is counted, with who keeps the mailboxes. */
async function assertMailCounted(service: Service): Promise<void> {
  await mails(service)
  const { mailByProvider } = await asked(
    service,
    '{ mailByProvider { provider sent opened clicked openRate } }',
  )
  assert.equal(
    mailByProvider,
    Object.keys(ADDRESSES).map((provider) => ({
      ...{ provider, sent: 1, opened: 1, clicked: provider === 'GMAIL' ? 1 : 0, openRate: 100 },
    })),
  )
}

const startIdle = () => startTracking({ ROLES: 'http' })

scenario('Ranges and ranks', startIdle, (test) => {
  test('days are those of the time zone, none is missing, and there are at most 90', async (service) => {
    const series: Body[] = await read(
      service,
      '/analytics/timeseries?startDate=2026-03-01&endDate=2026-03-31&tz=Europe/Berlin',
    )
    assert.equal([series.length, series[0].date, series[30]?.date], [31, '2026-03-01', '2026-03-31'])
    const long: Body[] = await read(service, '/analytics/timeseries?startDate=2020-01-01&endDate=2026-03-31')
    assert.equal([long.length, long[0].date, long[89]?.date], [90, '2026-01-01', '2026-03-31'])
    const part: Body[] = await read(
      service,
      '/analytics/timeseries?startDate=2026-03-01T12:00:00Z&endDate=2026-03-03T00:00:00Z',
    )
    assert.equal(
      part.map(({ date }) => date),
      ['2026-03-01', '2026-03-02'],
    )
  })

  for (const path of ['analytics/timeseries', 'analytics/top-campaigns', 'analytics/campaign-stats']) {
    test(`GET /${path} refuses what is no range`, async (service) => {
      for (const query of ['startDate=2026-03-02&endDate=2026-03-01', 'startDate=soon', 'tz=Mars/Olympus']) {
        const { status, body } = await service.as().get(`/${path}?${query}`)
        assert.equal([status, body.error?.code], [400, 'BAD_REQUEST'], query)
      }
    })
  }

  test('campaigns are ranked by a metric', async (service) => {
    const project = await service.newProject()
    const own = { ...service, project, as: (who = project) => service.as(who) } as Service
    const numbers: [string, number, number, number][] = [
      ['many', 100, 50, 5],
      ['eager', 10, 9, 1],
      ['quick', 20, 8, 8],
    ]
    for (const [name, sent, opened, clicked] of numbers) {
      const { id } = await newCampaign(own, { name })
      await service.sql(
        `update campaigns set status = 'SENT', started_at = created_at, sent_at = created_at, sent_count = $2, opened_count = $3
         where id = $1`,
        [id, sent, opened],
      )
      await service.sql(
        `insert into campaign_tallies (project_id, campaign_id, id, clicked) values ($1, $2, gen_random_uuid(), $3)`,
        [project.id, id, clicked],
      )
    }
    await newCampaign(own, { name: 'draft' })
    const ranked = async (metric: string) =>
      (await read(own, `/analytics/top-campaigns?metric=${metric}&limit=2`)).map(({ name }: Body) => name)
    assert.equal(await ranked('opens'), ['many', 'eager'])
    assert.equal(await ranked('clicks'), ['quick', 'many'])
    assert.equal(await ranked('openRate'), ['eager', 'many'])
    assert.equal(await ranked('clickRate'), ['quick', 'eager'])
    assert.equal(await read(own, '/analytics/campaign-stats'), {
      ...{ total: 4, active: 0, completed: 3, averageOpenRate: 60, averageClickRate: 18.33 },
    })
    const { status } = await own.as().get('/analytics/top-campaigns?metric=luck')
    assert.is(status, 400)
  })

  test('events are ranked, and compared with the time before', async (service) => {
    const project = await service.newProject()
    const [contactId = ''] = await newContacts(service, 1, project)
    const at = (days: number) => new Date(service.clock.now().getTime() - days * DAY)
    const times = (name: string, count: number, days: number) =>
      Array.from({ length: count }, () => ({ name, contactId, at: at(days) }))
    await record(
      service,
      [
        ...times('bought', 3, 1),
        ...times('bought', 2, 40),
        ...times('viewed', 5, 2),
        ...times('left', 1, 3),
        ...times('left', 4, 45),
        ...times('email.sent', 9, 1),
      ],
      project,
    )
    assert.equal(await read(service, '/analytics/top-events', project), [
      { name: 'viewed', count: 5, trend: 100 },
      { name: 'bought', count: 3, trend: 50 },
      { name: 'left', count: 1, trend: -75 },
    ])
    assert.is((await read(service, '/analytics/top-events?limit=1', project)).length, 1)
    assert.is((await read(service, '/activity/stats', project)).totalEvents, 9)
  })
})
