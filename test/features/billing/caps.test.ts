import * as assert from 'uvu/assert'
import { type App, startApp } from '../../../src/app.ts'
import { countUsageJob } from '../../../src/features/billing/count-usage.job.ts'
import { createLog } from '../../../src/observe/log.ts'
import { type BrowserSession, member } from '../../support/browser-session.ts'
import { scenario } from '../../support/scenario.ts'
import { callerOf, type Service, until, withProject } from '../../support/service.ts'
import { talk } from '../../support/smtp-talk.ts'
import { workThrough } from '../../support/work.ts'
import { newCampaign, newContacts, sendNow, stats } from '../campaigns/campaign-support.ts'
import { chain, executionOf, newContact, start as startExecution } from '../workflows/workflow-support.ts'
import { type Billed, newOwner, startBilled } from './billing-support.ts'

type Context = Billed & { other: App }

/** Two processes on one database; the first does the work as well. */
async function start(): Promise<Context> {
  const billed = await startBilled({
    ...{ ROLES: 'http,worker,smtp', SMTP_DOOR_PORT: '0' },
    SMTP_DOOR_INBOUND_PORT: '0',
  })
  const { service } = billed
  const config = { ...service.app.config, port: 0, apiUrl: 'http://127.0.0.1:0', roles: ['http' as const] }
  const other = await startApp(config, createLog('silent'), service.clock)
  const stop = async () => {
    await other.stop()
    await billed.stop()
  }
  return { ...billed, other, stop }
}

const used = async ({ sql }: Service, projectId: string): Promise<Record<string, number>> => {
  const rows = await sql(
    `select category, sum(count)::int as count from (
       select project_id, lower(category::text) as category, used as count from billing_usage
       union all select project_id, lower(category::text), count from billing_tallies) counted
     where project_id = $1 and count > 0 group by 1`,
    [projectId],
  )
  return Object.fromEntries(rows.map(({ category, count }) => [category, count]))
}

const MINUTES = 60_000

/** The mails of the service itself that these people got. */
async function toldTo(service: Service, people: BrowserSession[]): Promise<string[]> {
  const lists = people.map(({ email }) =>
    service.call('GET', `/mailbox/messages?to=${encodeURIComponent(email)}`),
  )
  const mails = (await Promise.all(lists)).flatMap(({ body }) => body.data)
  return mails.map(({ subject }) => subject).filter((subject) => subject.includes('limit'))
}

scenario('Caps on messages', start, (test) => {
  test('hold for sends at the same time to two processes, and a send is for all or for none', async (context) => {
    const { service, other } = context
    const { cap, project, send } = await newOwner(service)
    await cap({ transactional: 40 })
    const urls = [service.url, other.config.apiUrl]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        callerOf(urls[index % 2] ?? '', project).post('/v1/send', {
          to: Array.from({ length: (index % 3) + 1 }, (_, one) => `r${index}-${one}@example.org`),
          ...{ from: `a@${project.domain}`, subject: 's', body: 'b' },
        }),
      ),
    )
    const accepted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 402)
    assert.is(accepted.length + refused.length, 40, 'nothing else happens')
    const sent = accepted.reduce((sum, { body }) => sum + body.data.emails.length, 0)
    const [stored] = await service.sql('select count(*)::int as count from emails where project_id = $1', [
      project.id,
    ])
    assert.is(stored?.count, sent)
    assert.ok(sent <= 40 && sent > 37, `${sent} of 40`)
    for (let left = 40 - sent; left > 0; left -= 1) {
      const last = () =>
        until('held permits are back', async () => (await send('last@example.org')).status === 200)
      await last()
    }
    const full = await send('more@example.org')
    assert.is(full.status, 402)
    assert.is(full.body.error.code, 'BILLING_LIMIT_EXCEEDED')
    assert.equal(
      { ...full.body.error.details, resetsAt: '' },
      { category: 'transactional', limit: 40, usage: 40, resetsAt: '' },
    )
    assert.equal(await used(service, project.id), { transactional: 40 })
  })

  test('are told to admins once, at four fifths', async ({ service }) => {
    const { cap, project, send, call, browser } = await newOwner(service)
    const admin = await member(service, 'ADMIN', project)
    const other = await member(service, 'MEMBER', project)
    await cap({ transactional: 5 })
    const warned = () =>
      service.sql(
        'select category, warned_at from billing_usage where project_id = $1 and warned_at is not null',
        [project.id],
      )
    await send(['a@example.org', 'b@example.org', 'c@example.org'])
    await workThrough(service, countUsageJob)
    assert.equal(await warned(), [])
    await send('d@example.org')
    await workThrough(service, countUsageJob)
    const marked = await warned()
    assert.is(marked.length, 1)
    await send('e@example.org')
    await workThrough(service, countUsageJob)
    assert.equal(await warned(), marked, 'once')
    await until('both are told', async () => (await toldTo(service, [browser, admin])).length === 2)
    assert.equal(await toldTo(service, [other]), [])
    const { transactional } = (await call('GET', 'billing-limits')).body
    assert.equal(transactional, { limit: 5, usage: 5, percentage: 100, isWarning: true, isBlocked: true })
  })

  test('give back what a request did not use, and what a process that died has held', async ({ service }) => {
    const { cap, project, send } = await newOwner(service)
    await cap({ transactional: 2 })
    const permits = service.app.services.mailPermits
    const now = service.app.services.now()
    await permits?.take(project.id, 'TRANSACTIONAL', 1, now)
    await permits?.giveBack(project.id, 'TRANSACTIONAL', 1, now)
    await permits?.take(project.id, 'TRANSACTIONAL', 2, now)
    assert.is((await send('a@example.org')).status, 402, 'they are held')
    service.clock.advance(3 * MINUTES)
    assert.is((await send('a@example.org')).status, 200)
    assert.is((await send('b@example.org')).status, 200)
    assert.is((await send('c@example.org')).status, 402)
  })

  test('hold up a campaign until they are raised', async ({ service }) => {
    const { cap, project } = await newOwner(service)
    const own = withProject(service, project)
    await cap({ campaigns: 30 })
    await newContacts(own, 70, {}, project)
    const { id } = await newCampaign(own)
    await sendNow(own, id)
    const sent = (count: number) =>
      until(`${count} are sent`, async () => (await stats(own, id)).sentCount === count)
    await sent(30)
    const held = await stats(own, id)
    assert.equal([held.status, held.pendingCount, held.totalRecipients], ['SENDING', 40, 70])
    const next = await newCampaign(own)
    assert.is((await own.as().post(`/campaigns/${next.id}/send`, {})).status, 402)
    await cap({ campaigns: 70 })
    service.clock.advance(MINUTES)
    await sent(70)
    assert.equal(await used(service, project.id), { campaigns: 70 })
  })

  test('leave out mail of workflows', async ({ service }) => {
    const { cap, project } = await newOwner(service)
    const own = withProject(service, project)
    await cap({ workflows: 1 })
    const template = await own.as().post('/templates', {
      ...{ name: 't', subject: 's', body: 'b', from: `a@${project.domain}`, type: 'TRANSACTIONAL' },
    })
    assert.is(template.status, 201, template.text)
    const workflow = await chain(own, [
      { type: 'SEND_EMAIL', name: 'mail', templateId: template.body.id, config: {} },
    ])
    const outcomes = []
    for (let index = 0; index < 2; index += 1) {
      const execution = await startExecution(own, workflow.id, (await newContact(own)).id)
      const done = await until('it is completed', async () => {
        const found = await executionOf(own, workflow.id, execution.id)
        return found.status === 'COMPLETED' && found
      })
      const step = done.stepExecutions.find(
        ({ stepId }: { stepId: string }) => stepId === workflow.steps[0].id,
      )
      outcomes.push([step.status, step.output?.reason ?? null])
    }
    assert.equal(outcomes, [
      ['COMPLETED', null],
      ['SKIPPED', 'billing limit'],
    ])
    assert.equal(await used(service, project.id), { workflows: 1 })
  })

  test('put off inbound mail', async ({ service }) => {
    const { cap, project } = await newOwner(service)
    await cap({ inbound: 1 })
    const port = service.app.config.smtpDoor?.ports.inbound ?? 0
    const arrive = async (subject: string) => {
      const server = await talk(port)
      await server.ask('EHLO mx.customer.example')
      const letter = ['From: ann@customer.example', `Subject: ${subject}`, '', 'Hello'].join('\r\n')
      const answer = await server.send('ann@customer.example', [`in@${project.domain}`], letter)
      server.close()
      return answer
    }
    assert.match(await arrive('one'), /^250/)
    assert.match(await arrive('two'), /^452 4\.2\.2/)
    await cap({})
    assert.match(await arrive('one'), /^250/, 'a repeat is not counted')
    assert.match(await arrive('two'), /^250/)
    assert.equal(await used(service, project.id), { inbound: 2 })
  })

  test('begin anew with the month, to the millisecond', async ({ service }) => {
    const { project, cap, send } = await newOwner(service)
    await cap({ transactional: 1 })
    const { now } = service.app.services
    const resetsAt = Date.UTC(now().getUTCFullYear(), now().getUTCMonth() + 1)
    const left = () => resetsAt - now().getTime()
    service.clock.advance(left() - 10 * MINUTES)
    assert.is((await send('old@example.org')).status, 200)
    service.clock.advance(left() - 30_000)
    assert.is((await send('old@example.org')).status, 402, 'in the last half minute')
    service.clock.advance(left())
    assert.is((await send('new@example.org')).status, 200, 'in the first')
    assert.is((await send('new@example.org')).status, 402)
    // The session of the month before may have ended.
    const admin = await member(service, 'ADMIN', project)
    const { body } = await admin.call('GET', `/users/@me/projects/${project.id}/billing-consumption`)
    assert.is(body.period.start, new Date(resetsAt).toISOString())
    assert.is(body.usage.transactional, 1)
  })
})
