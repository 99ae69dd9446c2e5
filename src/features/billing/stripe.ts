import type Stripe from 'stripe'
import type { BillingConfig } from '../../config.ts'
import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'

/** Milliseconds for one call, which is tried once more when the connection fails; the package sends one idempotency key. */
const TIMEOUT_MS = 8_000
const RETRIES = 1

/** The settings of billing. Throws RESOURCE_NOT_FOUND where it is off. */
export function billingConfigOf({ config }: Pick<Ctx, 'config'>): BillingConfig {
  if (!config.billing) throw nowhere()
  return config.billing
}

/** Asks Stripe. Throws EXTERNAL_SERVICE_ERROR, which says nothing of the reason: that is in the log. */
export async function askStripe<Result>(ctx: Ctx, ask: (stripe: Stripe) => Promise<Result>): Promise<Result> {
  const { secretKey, address } = billingConfigOf(ctx)
  // The package is large, and most processes never need it.
  const { default: StripeClient } = await import('stripe')
  const { protocol, hostname, port } = new URL(address)
  const stripe = new StripeClient(secretKey, {
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    ...(port && { port }),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })
  try {
    return await ask(stripe)
  } catch (error) {
    if (!(error instanceof StripeClient.errors.StripeError)) throw error
    const { type, code, param, statusCode, requestId } = error
    ctx.log.error({ type, code, param, statusCode, stripeRequestId: requestId }, 'Stripe has refused a call')
    throw unanswered(statusCode === 401 || statusCode === 403)
  }
}

const unanswered = (isSetting: boolean): AppError =>
  new AppError(
    'EXTERNAL_SERVICE_ERROR',
    'The payment service did not do what was asked. Nothing was changed.',
    {
      suggestion: isSetting
        ? 'Whoever runs the service has to check STRIPE_SECRET_KEY, which the payment service refuses.'
        : 'Try again in a minute. Should it go on, the log of the service says why, under the request id.',
    },
  )

/** Where nothing is billed there is nothing to see. */
const nowhere = (): AppError =>
  new AppError('RESOURCE_NOT_FOUND', 'Billing is not switched on at this service.', {
    suggestion: 'Whoever runs the service switches it on with STRIPE_SECRET_KEY.',
  })
