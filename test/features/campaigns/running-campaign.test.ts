import * as assert from 'uvu/assert'
import { campaignWork } from '../../../src/features/campaigns/campaign-work.ts'
import { eraseTracesJob } from '../../../src/features/contacts/erase-traces.job.ts'
import { HOUR, MINUTE } from '../../support/clock.ts'
import { startSending } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService, until } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { assertAddsUp, newCampaign, newContacts, reached, sendNow, stats } from './campaign-support.ts'
import { act, arrivalsOf, underWay, untilForgotten } from './under-way.ts'

/** A service with one connection to its SMTP server: while that holds a message, all others wait. */
const start = () =>
  startSending(
    { SMTP_CONNECTIONS: '1' },
    {
      sink: {
        refuse: (to, attempt) =>
          to.startsWith('refused') && attempt === 1 ? { at: 'RCPT', code: 550, text: 'no such user' } : null,
      },
    },
  )

scenario('A campaign that is being sent', start, (test) => {
  test('is cancelled: what has not been handed over never is', async (context) => {
    const { id, project, release } = await underWay(context, 'cancelled', 40)
    const answer = await context.as(project).post(`/campaigns/${id}/cancel`)
    assert.is(answer.body.data.status, 'CANCELLED')
    await untilForgotten()
    release()
    const found = await reached(context, id, 'CANCELLED', project)
    assert.is(found.sentCount, 1)
    assert.is(found.cancelledCount, 39)
    assert.is(arrivalsOf(context, 'cancelled-').length, 1)
    const rows = await context.sql(
      'select status, count(*)::int as count from emails where campaign_id = $1 group by 1 order by 1',
      [id],
    )
    assert.equal(rows, [
      { status: 'SENT', count: 1 },
      { status: 'CANCELLED', count: 39 },
    ])
    assert.is((await context.sql('select from deliveries where campaign_id = $1', [id])).length, 0)
    assertRefused(await context.as(project).post(`/campaigns/${id}/send`, {}), 409, 'CONFLICT')
  })

  test('is paused and resumed: everybody gets it once', async (context) => {
    const { id, project, release } = await underWay(context, 'paused', 30)
    const paused = await act(context, 'pauseCampaign', id, project)
    assert.equal(paused.body.data.pauseCampaign, { paused: true, status: 'SENDING' })
    await untilForgotten()
    release()
    await until('nothing is on its way', async () => {
      const { sendingCount, pendingCount, sentCount } = await stats(context, id, project)
      return sendingCount === 0 && pendingCount === 29 && sentCount === 1
    })
    assert.is(arrivalsOf(context, 'paused-').length, 1)
    await act(context, 'resumeCampaign', id, project)
    const found = await reached(context, id, 'SENT', project)
    assert.is(found.sentCount, 30)
    const to = arrivalsOf(context, 'paused-').map((one) => one.to)
    assert.is(to.length, 30)
    assert.is(new Set(to).size, 30)
    assert.is((await context.sql('select from emails where campaign_id = $1', [id])).length, 30)
  })

  test('leaves out who unsubscribes, is suppressed or is deleted meanwhile', async (context) => {
    const { id, ids, project, release } = await underWay(context, 'leaving', 6)
    const key = project.secret
    const first = context.sink.arrivals.at(-1)?.to ?? ''
    const others = await context.sql<{ id: string; email: string }>(
      'select id, email from contacts where id = any($1) and email <> $2 order by id',
      [ids, first],
    )
    const [unsubscribed, suppressed, deleted] = others
    await context.call('PATCH', `/contacts/${unsubscribed?.id}`, { key, body: { subscribed: false } })
    await context.sql(
      "insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'MANUAL', now())",
      [project.id, suppressed?.email],
    )
    assert.is((await context.call('DELETE', `/contacts/${deleted?.id}`, { key })).status, 204)
    await untilForgotten()
    release()
    const found = await reached(context, id, 'SENT', project)
    assert.equal(
      [found.totalRecipients, found.sentCount, found.skippedCount, found.suppressedCount],
      [6, 3, 2, 1],
    )
    const left = others.slice(0, 3).map(({ email }) => email)
    assert.not(arrivalsOf(context, 'leaving-').some(({ to }) => left.includes(to)))
    const [row] = await context.sql(
      'select status, email_id from campaign_recipients where contact_id = $1',
      [deleted?.id],
    )
    assert.is(row?.email_id, null)
    await assertAddsUp(context, id, project)
  })

  test('keeps what failed while it is paused, so that it can be tried again', async (context) => {
    const project = await context.newProject('Paused')
    await newContacts(context, 2, { prefix: 'refused-p' }, project)
    await newContacts(context, 1, { prefix: 'taken-p' }, project)
    const { id } = await newCampaign(context, {}, project)
    await sendNow(context, id, project)
    assert.is((await reached(context, id, 'SENT', project)).failedCount, 2)
    // As it is while others still wait.
    await context.sql("update campaigns set status = 'SENDING' where id = $1", [id])
    await act(context, 'pauseCampaign', id, project)
    await until('the pause is done', async () => {
      const [row] = await context.sql('select next_at from campaigns where id = $1', [id])
      return row?.next_at === null
    })
    const query = 'mutation ($id: ID!) { retryFailed(id: $id) { retried } }'
    const { body } = await context.as(project).graphql(query, { id })
    assert.is(body.data.retryFailed.retried, 2)
    assert.is((await reached(context, id, 'SENT', project)).sentCount, 3)
  })

  test('reports what failed, and tries it again when it is told to', async (context) => {
    const project = await context.newProject('Failing')
    await newContacts(context, 3, { prefix: 'refused-' }, project)
    await newContacts(context, 2, { prefix: 'taken-' }, project)
    const { id } = await newCampaign(context, {}, project)
    await sendNow(context, id, project)
    const found = await reached(context, id, 'SENT', project)
    assert.equal([found.sentCount, found.failedCount], [2, 3])
    const query = 'mutation ($id: ID!) { retryFailed(id: $id) { retried campaign { status } } }'
    const retried = await context.as(project).graphql(query, { id })
    assert.equal(retried.body.data.retryFailed, { retried: 3, campaign: { status: 'SENDING' } })
    const again = await reached(context, id, 'SENT', project)
    assert.equal([again.sentCount, again.failedCount], [5, 0])
    await assertAddsUp(context, id, project)
    const attempts = await context.sql(
      "select attempts from emails where campaign_id = $1 and to_email like 'refused-%'",
      [id],
    )
    assert.equal(
      attempts.map((row) => row.attempts),
      [1, 1, 1],
    )
  })
})

scenario('A scheduled campaign', startService, (test) => {
  test('starts when its time comes, with the audience of that moment', async (service) => {
    await newContacts(service, 2, { prefix: 'early-' })
    const { id } = await newCampaign(service)
    const scheduledFor = new Date(service.clock.now().getTime() + 10 * MINUTE).toISOString()
    const answer = await service.as().post(`/campaigns/${id}/send`, { scheduledFor })
    assert.is(answer.status, 200, answer.text)
    service.clock.advance(5 * MINUTE)
    await newContacts(service, 3, { prefix: 'late-' })
    assert.is((await stats(service, id)).totalRecipients, 0)
    service.clock.advance(6 * MINUTE)
    service.app.services.work.ask(campaignWork, { projectId: service.project.id })
    const found = await reached(service, id, 'SENT')
    assert.is(found.sentCount, 5)
  })

  test('is deleted with its ledger once it is over, its mail stays', async (service) => {
    await newContacts(service, 3)
    const { id } = await newCampaign(service)
    await sendNow(service, id)
    const { sentCount } = await reached(service, id, 'SENT')
    assert.is((await service.as().delete(`/campaigns/${id}`)).status, 204)
    await until('the ledger is gone', async () => {
      const [row] = await service.sql('select from campaigns where id = $1', [id])
      return !row
    })
    assert.is((await service.sql('select from campaign_recipients where campaign_id = $1', [id])).length, 0)
    assert.is((await service.sql('select from emails where campaign_id = $1', [id])).length, sentCount)
  })

  test('sends tests to contacts, whether subscribed or not, and to members, and counts none', async (service) => {
    await newContacts(service, 1, { prefix: 'tester-', subscribed: false, data: { name: 'Ada' } })
    const { id } = await newCampaign(service)
    const send = (email: string) => service.as().post(`/campaigns/${id}/test`, { email })
    const answer = await send('tester-0@example.org')
    assert.is(answer.status, 200, answer.text)
    const [message] = await until('the test arrives', async () => {
      const { body } = await service.call('GET', '/mailbox/messages?to=tester-0@example.org')
      return body.data.length > 0 && body.data
    })
    assert.is(message.subject, '[TEST] Spring is here, Ada')
    assert.match(message.html, '/unsubscribe/')
    assertRefused(await send('stranger@example.org'), 403, 'FORBIDDEN')
    const [user] = await service.sql(
      `insert into users (id, email, password_hash, created_at, updated_at)
       values (gen_random_uuid(), 'member@example.org', '', now(), now()) returning id`,
    )
    await service.sql(
      "insert into members (project_id, user_id, role, created_at) values ($1, $2, 'MEMBER', now())",
      [service.project.id, user?.id],
    )
    const sent = await Promise.all([1, 2, 3].map(() => send('member@example.org')))
    assert.equal(
      sent.map(({ status }) => status),
      [200, 200, 200],
    )
    await until('the test of the member arrives', async () => {
      const { body } = await service.call('GET', '/mailbox/messages?to=member@example.org')
      return body.data.length === 3
    })
    const listed = await service.as().get('/contacts?limit=100')
    assert.not(listed.body.data.some(({ email }: Body) => /member|erased/.test(email)))
    const everybody = await newCampaign(service, { type: 'TRANSACTIONAL' })
    await sendNow(service, everybody.id)
    const { totalRecipients, sentCount } = await reached(service, everybody.id, 'SENT')
    assert.equal([totalRecipients, sentCount], [listed.body.total, listed.body.total])
    service.clock.advance(25 * HOUR)
    await workThrough(service, eraseTracesJob)
    const left = await service.sql("select from emails where to_email = 'member@example.org'")
    assert.is(left.length, 0)
    assert.is((await service.sql("select from contacts where email like 'erased:%'")).length, 0)
    assert.is((await stats(service, id)).totalRecipients, 0)
  })
})
