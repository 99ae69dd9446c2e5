import * as assert from 'uvu/assert'
import { advanceCampaignsJob } from '../../../src/features/campaign-ledger/advance-campaigns.job.ts'
import { mailDeliveryWork } from '../../../src/features/delivery/mail-delivery.ts'
import { HOUR } from '../../support/clock.ts'
import { type SendingService, sendMail, startSending } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Project, type Service, startService, until } from '../../support/service.ts'
import { whileInterestsHeld } from '../../support/while-held.ts'
import { workThrough } from '../../support/work.ts'
import {
  assertAddsUp,
  campaignBody,
  newCampaign,
  newContacts,
  reached,
  sendNow,
  stats,
} from './campaign-support.ts'
import { act, arrivalsOf, underWay, untilForgotten } from './under-way.ts'

type Person = { id: string; email: string }

/** More than a worker takes at a time for one connection. */
const MANY = 70

/** Recipients whose messages no worker has taken. */
const untaken = ({ sql }: Service, campaignId: string): Promise<Person[]> =>
  sql<Person>(
    `select c.id, c.email from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
     join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where d.campaign_id = $1 and d.taken_by is null order by c.id`,
    [campaignId],
  )

async function statusOf({ sql }: Service, campaignId: string, { id }: { id: string }): Promise<string> {
  const [row] = await sql<{ status: string }>(
    'select status from campaign_recipients where campaign_id = $1 and contact_id = $2',
    [campaignId, id],
  )
  return row?.status ?? 'absent'
}

/** So many people of some; throws when there are fewer. */
function first(people: Person[], count: number): Person[] {
  if (people.length < count) throw new Error(`${people.length} of ${count} people`)
  return people.slice(0, count)
}

const rawOf = (context: SendingService, to: string): string =>
  context.sink.arrivals.find((one) => one.to === to)?.raw.toString() ?? ''

const suppress = ({ sql }: Service, project: Project, email: string) =>
  sql("insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'MANUAL', now())", [
    project.id,
    email,
  ])

async function bulk(context: Service, project: Project, action: string, ids: string[]): Promise<void> {
  const caller = context.as(project)
  const { status, body, text } = await caller.post(`/contacts/bulk-${action}`, { contactIds: ids })
  assert.is(status, 202, text)
  await until('the job is done', async () => {
    const job = await caller.get(`/contacts/bulk/${body.jobId}`)
    return job.body.state === 'completed'
  })
}

scenario(
  'Contacts that change while a campaign waits',
  () => startSending({ SMTP_CONNECTIONS: '1' }),
  (test) => {
    test('get it at their address of the hand-over, rendered with their data of then', async (context) => {
      const { id, project, release } = await underWay(context, 'moved', MANY)
      const caller = context.as(project)
      const [moved, renamed] = first(await untaken(context, id), 2)
      // What was accepted for an address goes there.
      await sendMail(context, moved?.email ?? '', { subject: 'Receipt' }, project)
      const patched = await caller.patch(`/contacts/${moved?.id}`, { email: 'moved-new@example.org' })
      assert.is(patched.status, 200, patched.text)
      await caller.patch(`/contacts/${renamed?.id}`, { data: { name: 'Grace' } })
      release()
      const found = await reached(context, id, 'SENT', project)
      assert.is(found.sentCount, MANY)
      const mail = rawOf(context, 'moved-new@example.org')
      assert.match(mail, 'Subject: Spring is here')
      assert.match(rawOf(context, renamed?.email ?? ''), 'Subject: Spring is here, Grace')
      const [old, ...others] = arrivalsOf(context, moved?.email ?? 'nobody')
      assert.is(others.length, 0)
      assert.match(old?.raw.toString() ?? '', 'Subject: Receipt')
      const [, link = ''] = /List-Unsubscribe:\s*<([^>]+)>/.exec(mail) ?? []
      const unsubscribed = await fetch(link, { method: 'POST', body: 'List-Unsubscribe=One-Click' })
      assert.is(unsubscribed.status, 200)
      assert.is((await stats(context, id, project)).unsubscribedCount, 1)
    })

    test('are asked again when a paused campaign goes on', async (context) => {
      const { id, project, release } = await underWay(context, 'stopped', MANY)
      await act(context, 'pauseCampaign', id, project)
      await untilForgotten()
      release()
      await until('nothing is on its way', async () => (await stats(context, id, project)).sendingCount === 0)
      const [moved, left, suppressed, deleted] = first(
        await context.sql<Person>(
          `select c.id, c.email from campaign_recipients r join contacts c on c.id = r.contact_id
         where r.campaign_id = $1 and r.status = 'PENDING' order by c.id`,
          [id],
        ),
        4,
      )
      const caller = context.as(project)
      await caller.patch(`/contacts/${moved?.id}`, { email: 'stopped-new@example.org' })
      await caller.patch(`/contacts/${left?.id}`, { subscribed: false })
      await suppress(context, project, suppressed?.email ?? '')
      await caller.delete(`/contacts/${deleted?.id}`)
      await act(context, 'resumeCampaign', id, project)
      const found = await reached(context, id, 'SENT', project)
      assert.equal([found.sentCount, found.skippedCount, found.suppressedCount], [MANY - 3, 2, 1])
      assert.is(arrivalsOf(context, 'stopped-new@').length, 1)
      for (const person of [moved, left, suppressed, deleted]) {
        assert.is(arrivalsOf(context, person?.email ?? '').length, 0)
      }
      const mail = await context.sql(
        'select status, to_email from emails where campaign_id = $1 and contact_id = any($2) order by contact_id',
        [id, [moved?.id, left?.id, suppressed?.id]],
      )
      assert.equal(
        mail.map(({ status }) => status),
        ['SENT', 'SUPPRESSED', 'SUPPRESSED'],
      )
      assert.is(mail[0]?.to_email, 'stopped-new@example.org')
      await assertAddsUp(context, id, project)
    })

    test('by the thousand are left out as well, and so is who is merged with "unsubscribed"', async (context) => {
      const { id, project, release } = await underWay(context, 'bulk', MANY)
      const [left, gone, merged] = first(await untaken(context, id), 3)
      await bulk(context, project, 'unsubscribe', [left?.id ?? ''])
      await bulk(context, project, 'delete', [gone?.id ?? ''])
      const upsert = await context.as(project).post('/contacts', { email: merged?.email, subscribed: false })
      assert.is(upsert.status, 200, upsert.text)
      release()
      const found = await reached(context, id, 'SENT', project)
      assert.equal([found.sentCount, found.skippedCount], [MANY - 3, 3])
      for (const person of [left, gone, merged]) {
        assert.is(arrivalsOf(context, person?.email ?? '').length, 0)
        assert.is(await statusOf(context, id, person ?? { id: '' }), 'SKIPPED')
      }
      await assertAddsUp(context, id, project)
    })
  },
)

/** Has what waits in the project be due, however long it was put off. */
function pass({ clock, app }: Service, project: Project): void {
  clock.advance(HOUR)
  app.services.work.ask(mailDeliveryWork, { projectId: project.id })
}

scenario(
  'A sender domain that changes while a campaign waits',
  () => startSending({ SMTP_CONNECTIONS: '1' }),
  (test) => {
    test('holds up its messages when it is not verified, until it is', async (context) => {
      const { id, project, release } = await underWay(context, 'unverified', 5)
      const verify = (status: string) =>
        context.sql('update domains set status = $2::domain_status where project_id = $1', [
          project.id,
          status,
        ])
      await verify('PENDING')
      await untilForgotten()
      release()
      await until('all but the one that was on its way wait', async () => {
        const waiting = await context.sql(
          `select from emails where campaign_id = $1 and status = 'PENDING' and error like '%not verified%'`,
          [id],
        )
        return waiting.length === 4
      })
      assert.is(arrivalsOf(context, 'unverified-').length, 1)
      await verify('VERIFIED')
      pass(context, project)
      assert.is((await reached(context, id, 'SENT', project)).sentCount, 5)
    })

    test('fails them when it is removed; those who are still there are tried again, at the address of then', async (context) => {
      const { id, ids, project, release } = await underWay(context, 'removed', 5)
      const caller = context.as(project)
      const { body } = await caller.get(`/domains/project/${project.id}`)
      assertRefused(await caller.delete(`/domains/${body[0].id}`), 409, 'CONFLICT')
      assert.is((await caller.delete(`/domains/${body[0].id}?force=true`)).status, 204)
      await untilForgotten()
      release()
      const found = await reached(context, id, 'SENT', project)
      assert.equal([found.sentCount, found.failedCount], [1, 4])
      const failed = await context.sql<{ error: string; id: string; email: string }>(
        `select error, contact_id as id, to_email as email from emails
         where campaign_id = $1 and status = 'FAILED' order by id desc`,
        [id],
      )
      const [moved, deleted, left] = failed
      assert.match(moved?.error ?? '', 'removed')
      assert.ok(ids.includes(moved?.id ?? ''))
      await caller.patch(`/contacts/${moved?.id}`, { email: 'removed-new@example.org' })
      assert.is((await caller.delete(`/contacts/${deleted?.id}`)).status, 204)
      await caller.patch(`/contacts/${left?.id}`, { subscribed: false })
      await assertAddsUp(context, id, project)
      await caller.post('/domains', { domain: project.domain })
      await context.sql("update domains set status = 'VERIFIED' where project_id = $1", [project.id])
      const retryFailed = async (): Promise<number> => {
        const answer = await caller.graphql('mutation ($id: ID!) { retryFailed(id: $id) { retried } }', {
          id,
        })
        return answer.body.data?.retryFailed.retried
      }
      assert.is(await retryFailed(), 3, 'nobody is there for the fourth')
      const retried = await reached(context, id, 'SENT', project)
      assert.equal([retried.sentCount, retried.skippedCount, retried.failedCount], [3, 1, 1])
      assert.is(await statusOf(context, id, deleted ?? { id: '' }), 'FAILED')
      for (const person of [deleted, left]) {
        assert.is(arrivalsOf(context, person?.email ?? '').length, 0)
      }
      assert.is(await retryFailed(), 0)
      assert.is((await stats(context, id, project)).status, 'SENT')
      assert.is(arrivalsOf(context, 'removed-new@').length, 1)
      assert.is(arrivalsOf(context, 'removed-').length, 3)
      await assertAddsUp(context, id, project)
    })
  },
)

const CONDITION = (value: string) => ({
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value }] }],
})

async function newSegment(service: Service, fields: object): Promise<string> {
  const answer = await service.as().post('/segments', { name: 'Pro', ...fields })
  assert.is(answer.status, 201, answer.text)
  return answer.body.id
}

const byHand = sharedStart(() => startService({ ROLES: 'http' }))

scenario('A segment that changes after its campaign has started', byHand, (test) => {
  test('does not change the audience, nor that of segments that it names', async (service) => {
    const [pro] = await newContacts(service, 1, { data: { plan: 'pro' } })
    const [free] = await newContacts(service, 1, { data: { plan: 'free' } })
    const inner = await newSegment(service, { condition: CONDITION('pro') })
    const outer = await newSegment(service, {
      condition: {
        logic: 'AND',
        groups: [{ filters: [{ field: `segment.${inner}`, operator: 'memberOfSegment' }] }],
      },
    })
    const campaigns = [
      await newCampaign(service, { audienceType: 'SEGMENT', segmentId: inner }),
      await newCampaign(service, { audienceType: 'SEGMENT', segmentId: outer }),
    ]
    for (const { id } of campaigns) await sendNow(service, id)
    const changed = await service.as().patch(`/segments/${inner}`, { condition: CONDITION('free') })
    assert.is(changed.status, 200, changed.text)
    await workThrough(service, advanceCampaignsJob)
    for (const { id } of campaigns) {
      assert.is(await statusOf(service, id, { id: pro ?? '' }), 'SENDING')
      assert.is(await statusOf(service, id, { id: free ?? '' }), 'absent')
    }
  })
})

const answersOf = (answers: Answer[]) => answers.map(({ status }) => status)

scenario('Deletions beside campaigns that name what is deleted', byHand, (test) => {
  const both = async (
    service: Service,
    change: (id: string) => Promise<Answer>,
    expected: [changeFirst: number[], deletionFirst: number[]],
  ) => {
    for (const [index, statuses] of expected.entries()) {
      const id = await newSegment(service, { condition: CONDITION('pro') })
      const requests = [() => change(id), () => service.as().delete(`/segments/${id}`)]
      const ordered = index === 0 ? requests : requests.toReversed()
      const answers = await whileInterestsHeld(service, service.project.id, ordered)
      assert.equal(answersOf(answers), statuses)
    }
  }
  const inSegment = (segmentId: string) => ({ audienceType: 'SEGMENT', segmentId })

  test('of a segment that one is created for', (service) =>
    both(service, (id) => service.as().post('/campaigns', campaignBody(service.project, inSegment(id))), [
      [201, 409],
      [204, 404],
    ]))

  test('of a segment that one is changed to', async (service) => {
    const { id } = await newCampaign(service)
    const change = (segmentId: string) =>
      service.as().call('PUT', `/campaigns/${id}`, campaignBody(service.project, inSegment(segmentId)))
    await both(service, change, [
      [200, 409],
      [204, 404],
    ])
  })

  test('of a segment whose campaign is cancelled at that moment', async (service) => {
    for (const [cancelFirst, statuses] of [
      [true, [200, 204]],
      [false, [409, 200]],
    ] as const) {
      const segmentId = await newSegment(service, { condition: CONDITION('pro') })
      const { id } = await newCampaign(service, inSegment(segmentId))
      await service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2040-01-01' })
      const requests = [
        () => service.as().post(`/campaigns/${id}/cancel`),
        () => service.as().delete(`/segments/${segmentId}`),
      ]
      const ordered = cancelFirst ? requests : requests.toReversed()
      assert.equal(answersOf(await whileInterestsHeld(service, service.project.id, ordered)), statuses)
    }
  })

  for (const [what, field, path] of [
    ['a field', 'data.level', '/contacts/fields/data.level'],
    ['an event', 'event.bought', '/events/bought'],
  ] as const) {
    test(`of ${what} that one is created for`, async (service) => {
      await newContacts(service, 1, { data: { level: 1 } })
      await service.as().post('/events/track', { email: 'ada@example.org', event: 'bought' })
      const operator = field.startsWith('event.') ? { operator: 'triggered' } : { operator: 'exists' }
      const audienceCondition = { logic: 'AND', groups: [{ filters: [{ field, ...operator }] }] }
      const fields = campaignBody(service.project, { audienceType: 'FILTERED', audienceCondition })
      const requests = [() => service.as().post('/campaigns', fields), () => service.as().delete(path)]
      const answers = await whileInterestsHeld(service, service.project.id, requests)
      assert.equal(answersOf(answers), [201, 409])
    })
  }
})
