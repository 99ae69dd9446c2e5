import type Stripe from 'stripe'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict } from '../../errors.ts'
import type { BillingAccount } from '../../generated/prisma/client.ts'
import { isRunning } from './accounts.sql.ts'
import { askStripe, billingConfigOf } from './stripe.ts'

export type Redirect = { url: string }

/** The project as Stripe knows it; null before its first checkout. */
export const accountOf = (ctx: Ctx): Promise<BillingAccount | null> =>
  ctx.db.billingAccount.findUnique({ where: { projectId: projectIdOf(ctx) } })

/** Begins a subscription on a page of Stripe. Throws CONFLICT when there is one, EXTERNAL_SERVICE_ERROR. */
export async function checkOut(ctx: Ctx): Promise<Redirect> {
  const { prices } = billingConfigOf(ctx)
  const account = await accountOf(ctx)
  if (account && isRunning(account.status)) {
    throw conflict(
      'The project has a subscription. POST /users/@me/projects/:id/billing-portal leads to where it is changed.',
    )
  }
  const customer = account?.customerId ?? (await makeCustomer(ctx))
  const projectId = projectIdOf(ctx)
  const session = await askStripe(ctx, async (stripe) =>
    stripe.checkout.sessions.create({
      mode: 'subscription',
      customer,
      client_reference_id: projectId,
      line_items: await Promise.all(prices.map((price) => lineItem(stripe, price))),
      success_url: pageOf(ctx, 'success'),
      cancel_url: pageOf(ctx, 'cancelled'),
      subscription_data: { metadata: { project_id: projectId } },
    }),
  )
  if (session.url === null) throw new Error('Stripe has made a checkout session without an address')
  return { url: session.url }
}

/** Leads to the page of Stripe where the subscription is changed. Throws CONFLICT without one, EXTERNAL_SERVICE_ERROR. */
export async function openPortal(ctx: Ctx): Promise<Redirect> {
  billingConfigOf(ctx)
  const account = await accountOf(ctx)
  if (!account) {
    throw conflict(
      'The project has never had a subscription: POST /users/@me/projects/:id/checkout begins one.',
    )
  }
  const { url } = await askStripe(ctx, (stripe) =>
    stripe.billingPortal.sessions.create({ customer: account.customerId, return_url: pageOf(ctx) }),
  )
  return { url }
}

/** Metered prices have no quantity: Stripe multiplies them with what is reported. */
async function lineItem(
  stripe: Stripe,
  price: string,
): Promise<Stripe.Checkout.SessionCreateParams.LineItem> {
  const { recurring } = await stripe.prices.retrieve(price)
  return recurring?.usage_type === 'metered' ? { price } : { price, quantity: 1 }
}

/** Two at the same time, or after a crash, make one: they have the same idempotency key. */
async function makeCustomer(ctx: Ctx): Promise<string> {
  const projectId = projectIdOf(ctx)
  const { id: customerId } = await askStripe(ctx, (stripe) =>
    stripe.customers.create(
      { metadata: { project_id: projectId } },
      { idempotencyKey: `mailwright-customer-${projectId}` },
    ),
  )
  const account = await ctx.db.billingAccount.upsert({
    where: { projectId },
    create: { projectId, customerId, updatedAt: ctx.now() },
    update: {},
  })
  return account.customerId
}

/** Where Stripe sends people back to. */
const pageOf = ({ config }: Ctx, outcome?: string): string =>
  `${config.dashboardUrl ?? config.apiUrl}/${outcome ? `?checkout=${outcome}` : ''}`
