import * as assert from 'uvu/assert'
import { countUsageJob } from '../../../src/features/billing/count-usage.job.ts'
import { syncAccountsJob } from '../../../src/features/billing/sync-accounts.job.ts'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { member } from '../../support/browser-session.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { invoiceOf, stripeSignature } from '../../support/stripe-api.ts'
import { workThrough } from '../../support/work.ts'
import { type Billed, NO_CAPS, newOwner, notify, startBilled } from './billing-support.ts'

const OPERATIONS = [
  ['POST', 'checkout'],
  ['POST', 'billing-portal'],
  ['GET', 'billing-limits'],
  ['PUT', 'billing-limits'],
  ['GET', 'billing-consumption'],
  ['GET', 'billing-invoices'],
] as const

const FIVE_MINUTES = 5 * 60_000
const start = () => startBilled({ ROLES: 'http' })

/** What the worker does. */
async function work({ service }: Billed): Promise<void> {
  await workThrough(service, countUsageJob)
  await workThrough(service, syncAccountsJob)
}

/** An owner whose subscription runs. */
async function subscribed(billed: Billed) {
  const owner = await newOwner(billed.service)
  await owner.call('POST', 'checkout')
  const [account] = await billed.service.sql('select * from billing_accounts where project_id = $1', [
    owner.project.id,
  ])
  const customer: string = account?.customer_id
  billed.stripe.subscriptions.set(customer, [{ id: 'sub_1', status: 'active' }])
  await notify(billed, 'checkout.session.completed', customer)
  await work(billed)
  return { ...owner, customer }
}

scenario(
  'Billing is off without a key',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('every operation is 404, and nothing is counted', async (service) => {
      const owner = await newOwner(service)
      for (const [method, what] of OPERATIONS) {
        const answer = await owner.call(method, what, method === 'PUT' ? NO_CAPS : undefined)
        assert.is(answer.status, 404, what)
        assert.is(answer.body.error.code, 'RESOURCE_NOT_FOUND')
      }
      assert.is((await service.call('POST', '/webhooks/incoming/stripe', { body: '{}' })).status, 404)
      assert.equal((await service.call('GET', '/config')).body.features.billing, { enabled: false })
      assert.is((await owner.send('a@example.org')).status, 200)
      assert.equal(await service.sql('select * from billing_tallies'), [])
    })
  },
)

scenario('Billing', start, (test) => {
  test('is for admins of the project, signed in', async ({ service }) => {
    const { project, call } = await newOwner(service)
    const path = `/users/@me/projects/${project.id}/billing-limits`
    assert.is((await call('GET', 'billing-limits')).status, 200)
    assert.is((await (await member(service, 'ADMIN', project)).call('GET', path)).status, 200)
    assert.is((await (await member(service, 'MEMBER', project)).call('GET', path)).status, 403)
    assert.is((await (await member(service, 'OWNER')).call('GET', path)).status, 404)
    assert.is((await service.as(project).get(path)).status, 401)
    assert.equal((await service.call('GET', '/config')).body.features.billing, { enabled: true })
  })

  test('sets all four caps or refuses', async ({ service }) => {
    const { call, cap, browser, project } = await newOwner(service)
    for (const bad of [
      { ...NO_CAPS, inbound: 0 },
      { ...NO_CAPS, inbound: 3_000_000_000 },
      { ...NO_CAPS, campaigns: 1.5 },
      { workflows: 1 },
      {},
    ]) {
      const answer = await call('PUT', 'billing-limits', bad)
      assert.is(answer.status, 422, JSON.stringify(bad))
    }
    const free = { limit: null, usage: 0, percentage: 0, isWarning: false, isBlocked: false }
    assert.equal((await call('GET', 'billing-limits')).body, {
      workflows: free,
      campaigns: free,
      transactional: free,
      inbound: free,
    })
    const set = await cap({ campaigns: 7 })
    assert.equal(set.body.campaigns, { ...free, limit: 7 })
    assert.equal(set.body.inbound, free)
    const [noted] = await service.sql(
      'select actor, changes from audit_entries where project_id = $1 and action = $2',
      [project.id, 'billing.setLimits'],
    )
    assert.equal(noted, { actor: browser.email, changes: { ...NO_CAPS, campaigns: 7 } })
    const { body } = await browser.graphql(
      `mutation ($id: ID!) { setBillingLimits(id: $id, input: { workflows: 3, campaigns: null, transactional: null, inbound: null }) { workflows { limit } campaigns { limit } } }`,
      { id: project.id },
    )
    assert.ok(body.data, JSON.stringify(body))
    assert.equal(body.data.setBillingLimits, { workflows: { limit: 3 }, campaigns: { limit: null } })
  })

  test('leads to the pages of Stripe', async (billed) => {
    const { service, stripe } = billed
    const { call, project } = await newOwner(service)
    assert.is((await call('POST', 'billing-portal')).status, 409)
    assert.equal((await call('GET', 'billing-invoices')).body, { invoices: [], hasUnpaidInvoices: false })
    const [first, second] = await Promise.all([call('POST', 'checkout'), call('POST', 'checkout')])
    assert.is(first.status, 200, first.text)
    assert.is(first.body.url, second.body.url, 'both for one customer')
    assert.is(
      [...stripe.customers.values()].filter(({ metadata }) => metadata.project_id === project.id).length,
      1,
    )
    assert.match((await call('POST', 'billing-portal')).body.url, /^https:\/\/billing\.stripe\.com/)
    assert.is((await call('GET', 'billing-consumption')).body.upcomingInvoice, null)
  })

  test('shows consumption and invoices, and refuses a second checkout', async (billed) => {
    const { call, customer, send } = await subscribed(billed)
    assert.is((await call('POST', 'checkout')).status, 409)
    await send(['a@example.org', 'b@example.org'])
    const { body } = await call('GET', 'billing-consumption')
    assert.equal(body.usage, { workflows: 0, campaigns: 0, transactional: 2, inbound: 0 })
    assert.is(body.upcomingInvoice.amountDue, 4_200)
    assert.match(body.period.start, /-01T00:00:00\.000Z$/)
    billed.stripe.invoices.set(customer, [invoiceOf({ status: 'draft' }), invoiceOf({ id: 'in_2' })])
    const paid = (await call('GET', 'billing-invoices')).body
    assert.is(paid.hasUnpaidInvoices, false)
    assert.equal(
      paid.invoices.map(({ id }: { id: string }) => id),
      ['in_2'],
    )
    billed.stripe.invoices.set(customer, [invoiceOf({ status: 'open' })])
    assert.is((await call('GET', 'billing-invoices')).body.hasUnpaidInvoices, true)
  })

  test('answers 502 when Stripe fails, and says nothing of it', async (billed) => {
    const { call } = await newOwner(billed.service)
    billed.stripe.behaviour.fails = 2
    const answer = await call('POST', 'checkout')
    assert.is(answer.status, 502)
    assert.is(answer.body.error.code, 'EXTERNAL_SERVICE_ERROR')
    assert.ok(answer.body.error.suggestion)
    assert.not.match(answer.text, /internals|sk_test/)
    assert.is((await call('POST', 'checkout')).status, 200)
  })

  test('takes signed notifications once, in any order', async (billed) => {
    const { service, stripe } = billed
    const { customer, project } = await subscribed(billed)
    const state = async () =>
      (
        await service.sql('select status, changes from billing_accounts where project_id = $1', [project.id])
      )[0]
    assert.equal(await state(), { status: 'active', changes: 1 })
    stripe.subscriptions.set(customer, [
      { id: 'sub_2', status: 'canceled' },
      { id: 'sub_1', status: 'past_due' },
    ])
    assert.is((await notify(billed, 'customer.subscription.deleted', customer, 'evt_twice')).status, 200)
    assert.is((await notify(billed, 'customer.subscription.updated', customer)).status, 200)
    assert.is((await notify(billed, 'customer.subscription.deleted', customer, 'evt_twice')).status, 200)
    assert.is((await notify(billed, 'invoice.paid', 'cus_of_another')).status, 200)
    assert.is((await notify(billed, 'customer.updated', customer)).status, 200)
    await work(billed)
    assert.equal(await state(), { status: 'past_due', changes: 3 })
  })

  test('refuses notifications that Stripe has not signed now', async ({ service }) => {
    const body = JSON.stringify({
      id: 'evt_x',
      type: 'invoice.paid',
      data: { object: { customer: 'cus_1' } },
    })
    const now = service.app.services.now()
    const post = (signature: string | null, sent = body) =>
      service.call('POST', '/webhooks/incoming/stripe', {
        body: sent,
        headers: signature === null ? {} : { 'stripe-signature': signature },
      })
    const good = stripeSignature(body, now)
    const old = stripeSignature(body, new Date(now.getTime() - FIVE_MINUTES - 2_000))
    for (const bad of [
      null,
      '',
      'v1=',
      `t=${good}`,
      `${good.slice(0, -1)}_`,
      stripeSignature(body, now, 'whsec_other'),
      old,
    ]) {
      assert.is((await post(bad)).status, 403, String(bad))
    }
    assert.is((await post(good, `${body} `)).status, 403)
    assert.is((await post(good, 'x'.repeat(1_100_000))).status, 413)
    assert.equal(await service.sql("select * from billing_events where id = 'evt_x'"), [])
    assert.is((await post(good)).status, 200)
  })

  test('forgets notifications after some days', async ({ service }) => {
    await service.sql(
      "update billing_events set received_at = received_at - interval '8 days' where id = 'evt_x'",
    )
    await purgeExpiredJob.run(service.ctx(), {})
    assert.equal(await service.sql("select * from billing_events where id = 'evt_x'"), [])
    assert.ok((await service.sql('select * from billing_events')).length > 0)
  })

  test('reports usage once, whatever happens in between', async (billed) => {
    const { service, stripe } = billed
    const { send, project, customer } = await subscribed(billed)
    const reported = () =>
      stripe.meterEvents
        .filter((event) => event.customer === customer)
        .map(({ event_name, value }) => [event_name, value])
    await send(['a@example.org', 'b@example.org', 'c@example.org'])
    service.clock.advance(FIVE_MINUTES + 1_000)
    stripe.behaviour.hangsUp = 'after'
    await work(billed)
    assert.equal(reported(), [['mailwright_transactional', 3]], 'Stripe has it, and nobody was told')
    await send('d@example.org')
    stripe.behaviour.hangsUp = 'never'
    service.clock.advance(FIVE_MINUTES + 1_000)
    await work(billed)
    assert.equal(reported(), [['mailwright_transactional', 3]], 'the same again is refused')
    service.clock.advance(FIVE_MINUTES + 1_000)
    await work(billed)
    assert.equal(reported(), [
      ['mailwright_transactional', 3],
      ['mailwright_transactional', 1],
    ])
    const [usage] = await service.sql(
      'select used, reported, reporting from billing_usage where project_id = $1',
      [project.id],
    )
    assert.equal(usage, { used: 4, reported: 4, reporting: null })
  })

  test('does not report what was sent before the subscription', async (billed) => {
    const { service, stripe } = billed
    const owner = await newOwner(service)
    await owner.send('early@example.org')
    await owner.call('POST', 'checkout')
    const [account] = await service.sql('select customer_id from billing_accounts where project_id = $1', [
      owner.project.id,
    ])
    const customer: string = account?.customer_id
    stripe.subscriptions.set(customer, [{ id: 'sub_9', status: 'trialing' }])
    await notify(billed, 'customer.subscription.created', customer)
    await work(billed)
    await owner.send('late@example.org')
    service.clock.advance(FIVE_MINUTES + 1_000)
    await work(billed)
    assert.equal(
      stripe.meterEvents.filter((event) => event.customer === customer).map(({ value }) => value),
      [1],
    )
  })
})
