import * as assert from 'uvu/assert'
import { browserAt, PASSWORD } from '../support/browser-session.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { callerOf, requestTo, until } from '../support/service.ts'
import { startStripeApi, stripeSignature } from '../support/stripe-api.ts'
import { startKillable } from './killable-service.ts'

/** Messages of each round. */
const ROUNDS = [3, 2, 4]

async function start() {
  const stripe = await startStripeApi()
  const killable = await startKillable({ env: stripe.env })
  const stop = async () => {
    await killable.stop()
    await stripe.stop()
  }
  return { ...killable, stripe, stop }
}

type World = Awaited<ReturnType<typeof start>>

/** Makes a subscription of the project run, and returns the customer. */
async function subscribe({ stripe, project, databaseUrl }: World, url: string): Promise<string> {
  const email = 'owner@example.org'
  const owner = browserAt(url, email)
  await owner.call('POST', '/auth/signup', { email, password: PASSWORD })
  await query(
    databaseUrl,
    `insert into members (project_id, user_id, role, created_at) select $1, id, 'OWNER', now() from users`,
    [project.id],
  )
  await query(databaseUrl, 'update users set email_verified_at = now()')
  const checkout = await owner.call('POST', `/users/@me/projects/${project.id}/checkout`)
  assert.is(checkout.status, 200, checkout.text)
  const [account] = await query<{ customer: string }>(
    databaseUrl,
    'select customer_id as customer from billing_accounts',
  )
  const customer = account?.customer ?? ''
  stripe.subscriptions.set(customer, [{ id: 'sub_1', status: 'active' }])
  const type = 'customer.subscription.created'
  const body = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object: { customer } } })
  const headers = { 'stripe-signature': stripeSignature(body, new Date()) }
  assert.is((await requestTo(`${url}/webhooks/incoming/stripe`, 'POST', { body, headers })).status, 200)
  await until('the subscription runs', async () => {
    const rows = await query(databaseUrl, `select from billing_accounts where status = 'active'`)
    return rows.length > 0
  })
  return customer
}

/** What is a matter of minutes otherwise. */
const reportAtOnce = ({ databaseUrl }: World) =>
  query(databaseUrl, 'update billing_accounts set next_at = null')

scenario('A worker that is killed while it reports usage to Stripe', start, (test) => {
  test('has reported every message once in the end', async (world) => {
    const { stripe, project, databaseUrl, boot, kill } = world
    let { url } = await boot()
    await subscribe(world, url)
    const reports = () => stripe.calls.filter(({ path }) => path === '/v1/billing/meter_events')
    for (const [round, count] of ROUNDS.entries()) {
      const to = Array.from({ length: count }, (_, index) => `r${round}-${index}@example.org`)
      const mail = { to, from: `a@${project.domain}`, subject: 's', body: 'b' }
      const sent = await callerOf(url, project).post('/v1/send', mail)
      assert.is(sent.status, 200, sent.text)
      const total = ROUNDS.slice(0, round + 1).reduce((sum, one) => sum + one, 0)
      await until('all is counted', async () => {
        const rows = await query(databaseUrl, 'select from billing_usage where used = $1', [total])
        return rows.length > 0
      })
      const known = stripe.meterEvents.length
      const called = reports().length
      // Stripe has not taken the first one when the process dies, and has taken the others.
      stripe.behaviour.stalls = round === 0 ? 'before' : 'after'
      await reportAtOnce(world)
      await until('a report is under way', () => reports().length > called)
      assert.is(stripe.meterEvents.length, known + (round === 0 ? 0 : 1))
      await kill()
      stripe.behaviour.stalls = 'never'
      url = (await boot()).url
      await reportAtOnce(world)
      await until('Stripe knows of all', async () => {
        const rows = await query(
          databaseUrl,
          'select from billing_usage where reported = $1 and reporting is null',
          [total],
        )
        return rows.length > 0
      })
      assert.equal(
        stripe.meterEvents.map(({ value }) => value),
        ROUNDS.slice(0, round + 1),
      )
    }
    const repeated = [...Map.groupBy(reports(), ({ form }) => form.get('identifier'))]
    assert.is(repeated.length, ROUNDS.length)
    for (const [identifier, calls] of repeated) {
      assert.ok(calls.length > 1, `${identifier} was repeated`)
      assert.is(new Set(calls.map(({ form }) => form.toString())).size, 1, 'the same report each time')
    }
  })
})
