import type Stripe from 'stripe'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { BillingAccount } from '../../generated/prisma/client.ts'
import { workKind } from '../../queue/job-queue.ts'
import {
  beginReports,
  endReport,
  forgiveUsage,
  isRunning,
  storeSubscription,
  syncAgainAt,
} from './accounts.sql.ts'
import { accountOf } from './accounts.ts'
import { countUsage } from './count-usage.ts'
import { askStripe } from './stripe.ts'

/** A project has a change at Stripe to read, or usage to report. */
export const billingSyncWork = workKind('billing.sync-account')

/** Between reports of a project, and until Stripe is asked again that has failed. */
const PAUSE_MS = 5 * 60_000

/** Reads the subscription again when Stripe has told of a change, and reports usage. What fails is done again later. */
export async function syncAccount(ctx: Ctx): Promise<void> {
  const account = await accountOf(ctx)
  if (!account) return
  const again = { projectId: projectIdOf(ctx), at: new Date(ctx.now().getTime() + PAUSE_MS) }
  try {
    const status =
      account.readChanges < account.changes ? await readSubscription(ctx, account) : account.status
    if (isRunning(status)) await reportUsage(ctx, account.customerId)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    ctx.log.warn(
      { projectId: again.projectId },
      'Stripe could not be asked; it is asked again in five minutes',
    )
  }
  await ctx.sql(syncAgainAt, again)
}

/** Asks Stripe instead of believing a notification: they come in any order. */
async function readSubscription(ctx: Ctx, account: BillingAccount): Promise<string | null> {
  const { projectId, customerId, changes } = account
  const { data } = await askStripe(ctx, (stripe) =>
    stripe.subscriptions.list({ customer: customerId, status: 'all', limit: 100 }),
  )
  const found = current(data)
  const status = found?.status ?? null
  // Before the subscription begins to be reported, all that came earlier has to be in the usage.
  while (await countUsage(ctx));
  await ctx.atomically(async (tx) => {
    const subscriptionId = found?.id ?? null
    const stored = await tx.sql(storeSubscription, {
      projectId,
      subscriptionId,
      status,
      changes,
      now: tx.now(),
    })
    if (stored.length > 0 && isRunning(status) && !isRunning(account.status)) {
      await tx.sql(forgiveUsage, { projectId })
    }
  })
  return status
}

/** The subscription that runs, or else the newest one. Stripe lists the newest first. */
const current = (subscriptions: Stripe.Subscription[]): Stripe.Subscription | undefined =>
  subscriptions.find(({ status }) => isRunning(status)) ?? subscriptions[0]

/**
 * Tells Stripe what was used since the last time. The identifier of a report names its messages: Stripe refuses one that it
 * has, so what is repeated after a crash counts once. It remembers them for a day at least.
 */
async function reportUsage(ctx: Ctx, customerId: string): Promise<void> {
  const projectId = projectIdOf(ctx)
  for (const { category, month, from, upTo, at } of await ctx.sql(beginReports, {
    projectId,
    now: ctx.now(),
  })) {
    const report = {
      event_name: `mailwright_${category}`,
      payload: { stripe_customer_id: customerId, value: String(upTo - from) },
      identifier: `${projectId}:${category}:${month}:${upTo}`,
      timestamp: Math.floor(at.getTime() / 1_000),
    }
    await askStripe(ctx, (stripe) =>
      stripe.billing.meterEvents.create(report).catch((error: unknown) => {
        if (!isKnown(error)) throw error
      }),
    )
    await ctx.sql(endReport, { projectId, category, month, upTo })
  }
}

/** "An event already exists with identifier …", which has no code of its own in all versions of the API. */
const isKnown = (error: unknown): boolean =>
  error instanceof Error && /\balready exists with identifier\b/.test(error.message)
