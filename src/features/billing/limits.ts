import { monthOf, nextMonth } from '../../admission/metering/permits.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { recordChange } from '../audit/audit-log.ts'
import { isRunning } from './accounts.sql.ts'
import { accountOf } from './accounts.ts'
import type { BillingLimitsInput } from './limits.input.ts'
import { askStripe, billingConfigOf } from './stripe.ts'
import { setCaps, usageOfMonth } from './usage.sql.ts'

/** Percent of a cap from which people are warned. */
export const WARNING_PERCENT = 80

export type Limit = {
  limit: number | null
  usage: number
  percentage: number
  isWarning: boolean
  isBlocked: boolean
}

/** For each of the categories. */
export type PerCategory<Value> = { workflows: Value; campaigns: Value; transactional: Value; inbound: Value }

/** The caps of the project with what is used of them in this month. */
export async function readLimits(ctx: Ctx): Promise<PerCategory<Limit>> {
  billingConfigOf(ctx)
  const rows = await ctx.sql(usageOfMonth, { projectId: projectIdOf(ctx), month: monthOf(ctx.now()) })
  const of = (category: (typeof rows)[number]['category']): Limit => {
    const { limit = null, usage = 0 } = rows.find((row) => row.category === category) ?? {}
    const percentage = limit === null ? 0 : Math.floor((usage / limit) * 1_000) / 10
    const isWarning = limit !== null && usage * 100 >= limit * WARNING_PERCENT
    return { limit, usage, percentage, isWarning, isBlocked: limit !== null && usage >= limit }
  }
  return {
    workflows: of('WORKFLOWS'),
    campaigns: of('CAMPAIGNS'),
    transactional: of('TRANSACTIONAL'),
    inbound: of('INBOUND'),
  }
}

export async function setLimits(ctx: Ctx, input: BillingLimitsInput): Promise<PerCategory<Limit>> {
  billingConfigOf(ctx)
  const projectId = projectIdOf(ctx)
  const caps = Object.entries(input)
  await ctx.atomically(async (tx) => {
    await tx.sql(setCaps, {
      projectId,
      categories: caps.map(([category]) => category.toUpperCase()),
      limits: caps.map(([, limit]) => limit),
    })
    await recordChange(tx, projectId, { action: 'billing.setLimits', changes: input })
  })
  ctx.services.mailPermits?.forget(projectId)
  return readLimits(ctx)
}

export type UpcomingInvoice = {
  amountDue: number
  currency: string
  periodStart: Date
  periodEnd: Date
  dueAt: Date | null
}

export type Consumption = {
  period: { start: Date; end: Date }
  usage: PerCategory<number>
  upcomingInvoice: UpcomingInvoice | null
}

/** What is counted in this month, and what Stripe will ask for at its end. Throws EXTERNAL_SERVICE_ERROR. */
export async function readConsumption(ctx: Ctx): Promise<Consumption> {
  const limits = await readLimits(ctx)
  const account = await accountOf(ctx)
  const now = ctx.now()
  return {
    period: { start: new Date(monthOf(now)), end: nextMonth(now) },
    usage: {
      workflows: limits.workflows.usage,
      campaigns: limits.campaigns.usage,
      transactional: limits.transactional.usage,
      inbound: limits.inbound.usage,
    },
    upcomingInvoice:
      account?.subscriptionId && isRunning(account.status)
        ? await upcomingInvoice(ctx, account.subscriptionId)
        : null,
  }
}

async function upcomingInvoice(ctx: Ctx, subscription: string): Promise<UpcomingInvoice> {
  const invoice = await askStripe(ctx, (stripe) => stripe.invoices.createPreview({ subscription }))
  return {
    amountDue: invoice.amount_due,
    currency: invoice.currency,
    periodStart: dateOf(invoice.period_start),
    periodEnd: dateOf(invoice.period_end),
    dueAt: invoice.next_payment_attempt === null ? null : dateOf(invoice.next_payment_attempt),
  }
}

/** From seconds since 1970, as Stripe counts. */
export const dateOf = (seconds: number): Date => new Date(seconds * 1_000)
