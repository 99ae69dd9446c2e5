import { z } from 'zod'
import { type Ctx, forProject } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import { noteChange, rememberEvent } from './accounts.sql.ts'
import { billingConfigOf } from './stripe.ts'
import { billingSyncWork } from './sync-account.ts'

/** Seconds that a signature may be old (https://docs.stripe.com/webhooks#verify-manually). */
const TOLERANCE = 300

const event = z.object({
  id: z.string().max(255),
  type: z.string(),
  data: z.object({ object: z.object({ customer: z.string().nullish() }) }),
})

/** What may have changed a subscription, by the beginnings of the types of events. */
const HEARD = ['checkout.session.completed', 'customer.subscription.', 'invoice.']

/**
 * Takes a notification of Stripe, once: the subscription of its customer is then read again, whatever the notification says
 * of it. Throws FORBIDDEN when Stripe has not signed it.
 */
export async function takeNotification(ctx: Ctx, body: Buffer, signature: string | undefined): Promise<void> {
  const { webhookSecret } = billingConfigOf(ctx)
  const { default: Stripe } = await import('stripe')
  const now = ctx.now()
  try {
    Stripe.webhooks.constructEvent(body, signature ?? '', webhookSecret, TOLERANCE, undefined, now.getTime())
  } catch (error) {
    throw error instanceof SyntaxError ? notAnEvent() : notSigned()
  }
  const { data: heard } = event.safeParse(JSON.parse(body.toString('utf8')))
  if (!heard) return
  const customerId = heard.data.object.customer
  const projects = await ctx.atomically(async (tx) => {
    const isNew = (await tx.sql(rememberEvent, { id: heard.id, now })).length > 0
    const matters = HEARD.some((type) => heard.type.startsWith(type))
    return isNew && matters && customerId ? tx.sql(noteChange, { customerId }) : []
  })
  for (const { projectId } of projects) forProject(ctx, projectId).requestWork(billingSyncWork)
}

const notAnEvent = () => new AppError('INVALID_REQUEST_BODY', 'The body is not valid JSON.')

const notSigned = () =>
  new AppError('FORBIDDEN', 'The notification is not signed as it has to be, or it is too old.', {
    suggestion:
      'Only the payment service calls this address. Whoever runs the service: check STRIPE_WEBHOOK_SECRET.',
  })
