import * as assert from 'uvu/assert'
import { newId } from '../../../src/lib/ids.ts'
import { followStream } from '../../support/event-stream.ts'
import { scenario } from '../../support/scenario.ts'
import { runs, seeded } from '../../support/seeded.ts'
import { type Body, type Project, type Service, startService, withProject } from '../../support/service.ts'
import { read } from '../analytics/analytics-support.ts'
import { newCampaign } from '../campaigns/campaign-support.ts'
import { DAY, newContacts, record } from '../events/event-support.ts'
import { advance, chain, newContact, start, track } from '../workflows/workflow-support.ts'

const startIdle = () => startService({ ROLES: 'http' })

/** All entries, page by page. */
async function walk(service: Service, query: string, project: Project, between = async () => {}) {
  const found: Body[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Body = await read(service, `/activity?${query}${cursor && `&cursor=${cursor}`}`, project)
    found.push(...page.data)
    assert.is(page.hasMore, page.cursor !== null)
    cursor = page.cursor
    if (cursor !== null) await between()
  }
  return found
}

const EVENT_NAMES = [
  'email.sent',
  'email.open',
  'email.bounce',
  'contact.subscribed',
  'bought',
  'viewed',
  'left',
]

const TYPE_OF: Record<string, string> = {
  'email.sent': 'email.sent',
  'email.open': 'email.opened',
  'email.bounce': 'email.bounced',
  'contact.subscribed': 'contact.subscribed',
}

/** Fills a project with entries of all sources, many of them of the same few moments. Returns what the feed has to be. */
async function filled(service: Service, project: Project, between: (from: number, to: number) => number) {
  const people = await newContacts(service, 3, project)
  const own = withProject(service, project)
  await service.sql(`insert into event_names (project_id, name, count) select $1, unnest($2::text[]), 0`, [
    project.id,
    EVENT_NAMES,
  ])
  const now = service.clock.now().getTime()
  const moment = () => new Date(now - between(1, 6) * 1_000)
  const person = () => people[between(0, 2)] ?? ''
  const events = Array.from({ length: 25 }, () => {
    const at = moment()
    const name = EVENT_NAMES[between(0, EVENT_NAMES.length - 1)] ?? ''
    return { name, contactId: person(), at, id: newId(at) }
  })
  await record(service, events, project)
  const entries: Body[] = events.map(({ id, name, contactId, at }) => ({
    ...{ id, type: TYPE_OF[name] ?? 'event.triggered', contactId, at: at.getTime(), rank: 0, key: id },
  }))
  for (let index = 0; index < 5; index += 1) {
    const { id } = await newCampaign(own)
    const [scheduled, sent] = [moment(), moment()]
    await service.sql('update campaigns set scheduled_at = $2, sent_at = $3 where id = $1', [
      id,
      scheduled,
      sent,
    ])
    const about = { contactId: null, key: id }
    entries.push({
      ...about,
      id: `${id}-scheduled`,
      type: 'campaign.scheduled',
      at: scheduled.getTime(),
      rank: 1,
    })
    entries.push({ ...about, id: `${id}-sent`, type: 'campaign.sent', at: sent.getTime(), rank: 2 })
  }
  const workflow = await own.as().post('/workflows', { name: 'Onboarding', eventName: 'signed.up' })
  for (let index = 0; index < 6; index += 1) {
    const [started, completed, contactId] = [moment(), moment(), person()]
    const id = newId(started)
    await service.sql(
      `insert into workflow_executions (project_id, id, workflow_id, contact_id, status, started_at, completed_at)
       values ($1, $2, $3, $4, 'COMPLETED', $5, $6)`,
      [project.id, id, workflow.body.id, contactId, started, completed],
    )
    const about = { contactId, key: id }
    entries.push({ ...about, id: `${id}-started`, type: 'workflow.started', at: started.getTime(), rank: 3 })
    entries.push({
      ...about,
      id: `${id}-completed`,
      type: 'workflow.completed',
      at: completed.getTime(),
      rank: 4,
    })
  }
  const feed = entries.sort(
    (one, other) => other.at - one.at || other.rank - one.rank || (one.key < other.key ? 1 : -1),
  )
  return { people, feed, now }
}

scenario('The feed', startIdle, (test) => {
  test('is walked without gaps or repeats, by every filter, while more happens', async (service) => {
    await seeded(async (random) => {
      const project = await service.newProject()
      const { people, feed, now } = await filled(service, project, random.between)
      const { types } = await read(service, '/activity/types', project)
      const late = () =>
        record(service, [{ name: 'bought', contactId: people[0] ?? '', at: service.clock.now() }], project)
      for (let round = 0; round < runs(48); round += 1) {
        const asked = types.filter(() => random.between(0, 2) === 0)
        const contactId = random.between(0, 2) === 0 ? people[random.between(0, 2)] : undefined
        const from = random.between(0, 3) === 0 ? now - random.between(1, 6) * 1_000 : 0
        const to = now + 1 - random.between(0, 3) * 1_000
        if (from >= to) continue
        const query = new URLSearchParams({ limit: String(random.between(1, 9)) })
        if (asked.length > 0) query.set('types', asked.join(','))
        if (contactId) query.set('contactId', contactId)
        if (from) query.set('startDate', new Date(from).toISOString())
        query.set('endDate', new Date(to).toISOString())
        const found = await walk(service, query.toString(), project, late)
        const expected = feed.filter(
          (entry) =>
            (asked.length === 0 || asked.includes(entry.type)) &&
            (!contactId || entry.contactId === contactId) &&
            entry.at >= from &&
            entry.at < to,
        )
        assert.equal(
          found.map(({ id }) => id),
          expected.map(({ id }) => id),
          query.toString(),
        )
      }
      const all = await walk(service, 'limit=7', project, late)
      const ids = all.map(({ id }) => id)
      assert.equal(
        ids.filter((id) => feed.some((entry) => entry.id === id)),
        feed.map(({ id }) => id),
      )
      assert.is(new Set(ids).size, ids.length)
      const { total } = await read(
        service,
        '/activity?limit=1&types=campaign.sent&types=campaign.scheduled',
        project,
      )
      assert.is(total, 10)
    })
  })

  test('tells of events, campaigns and workflows as they happen', async (service) => {
    const project = await service.newProject()
    const own = withProject(service, project)
    const soon = new Date(service.clock.now().getTime() + 2 * DAY)
    const campaign = await newCampaign(own)
    const scheduled = await own.as().post(`/campaigns/${campaign.id}/send`, { scheduledFor: soon })
    assert.is(scheduled.status, 200, scheduled.text)
    const contact = await newContact(own)
    await own.as().patch(`/contacts/${contact.id}`, { subscribed: false })
    await track(own, contact.email, 'bought', { plan: 'pro' }, project)
    const waiting = await chain(own, [{ type: 'DELAY', config: { amount: 1, unit: 'days' } }])
    const execution = await start(own, waiting.id, contact.id)
    const short = await chain(own, [])
    await start(own, short.id, contact.id)
    await advance(own)
    const { data } = await read(own, '/activity')
    assert.equal(
      data.map(({ type }: Body) => type),
      [
        ...['workflow.completed', 'workflow.started', 'workflow.started'],
        ...['event.triggered', 'contact.unsubscribed', 'campaign.scheduled'],
      ],
    )
    assert.equal(data[3].metadata, { eventName: 'bought', data: { plan: 'pro' } })
    assert.equal([data[3].contactId, data[3].contactEmail], [contact.id, contact.email])
    assert.is(data[5].metadata.campaignId, campaign.id)
    const upcoming = await read(own, '/activity/upcoming')
    assert.equal(
      upcoming.data.map(({ id, type, contactEmail }: Body) => [id, type, contactEmail]),
      [
        [execution.id, 'workflow.waiting', contact.email],
        [campaign.id, 'campaign.scheduled', null],
      ],
    )
    assert.is(upcoming.data[1].scheduledFor, soon.toISOString())
    assert.equal(await read(own, '/activity/recent-count'), { count: 6, minutes: 5 })
    assert.equal(await read(own, '/activity/recent-count?minutes=9999'), { count: 6, minutes: 1_440 })
    assert.is((await read(own, '/activity/stats')).totalEvents, 1)
  })

  test('refuses what it does not know', async (service) => {
    for (const query of [
      '?types=email.sent,dreamt',
      '?contactId=ada',
      '?cursor=abc',
      '?startDate=2026-03-02&endDate=2026-03-01',
      '?limit=0',
      '/recent-count?minutes=0',
      '/stats?tz=Mars',
    ]) {
      const { status, body } = await service.as().get(`/activity${query}`)
      assert.equal([status, body.error?.code], [400, 'BAD_REQUEST'], query)
    }
  })

  test('can be followed: the newest entries, then those that are added', async (service) => {
    const project = await service.newProject()
    const [contactId = ''] = await newContacts(service, 1, project)
    const happens = (name: string) => record(service, [{ name, contactId, at: service.clock.now() }], project)
    await happens('first')
    const query = 'subscription { activityFeed { type metadata } }'
    const stream = await followStream(service, project.secret, null, { query })
    const names = async () =>
      (await stream.next()).data.activityFeed.map(({ metadata }: Body) => metadata.eventName)
    assert.equal(await names(), ['first'])
    await happens('second')
    assert.equal(await names(), ['second'])
    stream.leave()
  })
})
