import type { Ctx } from '../../ctx.ts'
import { accountOf } from './accounts.ts'
import { dateOf } from './limits.ts'
import { askStripe, billingConfigOf } from './stripe.ts'

export type Invoice = {
  id: string
  number: string | null
  status: string
  amountDue: number
  amountPaid: number
  currency: string
  createdAt: Date
  periodStart: Date
  periodEnd: Date
  url: string | null
  pdf: string | null
}

export type Invoices = { invoices: Invoice[]; hasUnpaidInvoices: boolean }

/** The newest invoices that are shown; Stripe gives at most a hundred at once. */
const SHOWN = 100

/** What was not paid: it is due, or was given up. */
const UNPAID = ['open', 'uncollectible']

/** The invoices of the project, the newest first; drafts are not among them. Throws EXTERNAL_SERVICE_ERROR. */
export async function readInvoices(ctx: Ctx): Promise<Invoices> {
  billingConfigOf(ctx)
  const account = await accountOf(ctx)
  if (!account) return { invoices: [], hasUnpaidInvoices: false }
  const { data } = await askStripe(ctx, (stripe) =>
    stripe.invoices.list({ customer: account.customerId, limit: SHOWN }),
  )
  const invoices = data.flatMap((invoice): Invoice[] =>
    invoice.status === null || invoice.status === 'draft'
      ? []
      : [
          {
            id: invoice.id,
            number: invoice.number,
            status: invoice.status,
            amountDue: invoice.amount_due,
            amountPaid: invoice.amount_paid,
            currency: invoice.currency,
            createdAt: dateOf(invoice.created),
            periodStart: dateOf(invoice.period_start),
            periodEnd: dateOf(invoice.period_end),
            url: invoice.hosted_invoice_url ?? null,
            pdf: invoice.invoice_pdf ?? null,
          },
        ],
  )
  return { invoices, hasUnpaidInvoices: invoices.some(({ status }) => UNPAID.includes(status)) }
}
