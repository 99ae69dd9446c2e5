import { SYSTEM } from '../../admission/access.ts'
import { createCtx } from '../../ctx.ts'
import { MAX_BODY_BYTES, readBody } from '../../http/body.ts'
import { type Exchange, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { takeNotification } from './notifications.ts'
import { billingConfigOf } from './stripe.ts'

/** What Stripe tells of subscriptions. Who does not prove to be it counts as a stranger. */
export const billingRoutes = ({ services, strangers }: HttpParts): ServerRoute[] => {
  const handle = async (exchange: Exchange) => {
    const wasNoStranger = strangers.count(exchange.request, services.now())
    billingConfigOf(services)
    const body = await readBody(exchange, MAX_BODY_BYTES)
    const signature = exchange.request.headers['stripe-signature']?.toString()
    await takeNotification(createCtx(services, SYSTEM, exchange.requestId), body, signature)
    wasNoStranger()
    replyJson(exchange, 200, { received: true })
  }
  return [{ method: 'POST', path: '/webhooks/incoming/stripe', handle }]
}
