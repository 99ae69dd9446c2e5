import { SYSTEM } from '../../admission/access.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { type Exchange, replyHtml } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { subscriptionPage } from '../../pages/subscription-page.ts'
import { followLink, type Subscription, subscriptionOfLink } from './subscription.ts'

/**
 * The pages behind the links in mail. Opening one changes nothing, because scanners open every link; the
 * button does, and so does the POST of a mail client (RFC 8058).
 */
export const subscriptionRoutes = ({ services }: HttpParts): ServerRoute[] => {
  const ctxOf = ({ requestId }: Exchange) => createCtx(services, SYSTEM, requestId)
  const showing = (path: string): ServerRoute => ({
    method: 'GET',
    path,
    isPage: true,
    handle: (exchange, { token = '' }) => show(ctxOf(exchange), exchange, token),
  })
  const changing = (path: string, subscribed: boolean): ServerRoute => ({
    method: 'POST',
    path,
    isPage: true,
    handle: (exchange, { token = '' }) => change(ctxOf(exchange), exchange, token, subscribed),
  })
  return [
    // A link may be cut off before its token.
    ...['/manage', '/unsubscribe', '/subscribe'].flatMap((path) =>
      [path, `${path}/`, `${path}/:token`].map(showing),
    ),
    changing('/unsubscribe/:token', false),
    changing('/subscribe/:token', true),
  ]
}

async function show(ctx: Ctx, exchange: Exchange, token: string): Promise<void> {
  replyPage(ctx, exchange, await subscriptionOfLink(ctx, token), token)
}

async function change(ctx: Ctx, exchange: Exchange, token: string, subscribed: boolean): Promise<void> {
  replyPage(ctx, exchange, await followLink(ctx, token, subscribed), token)
}

function replyPage(
  { config: { basePath } }: Ctx,
  exchange: Exchange,
  found: Subscription,
  token: string,
): void {
  const top = `${basePath}/`
  const action = `${top}${found.subscribed ? 'unsubscribe' : 'subscribe'}/${encodeURIComponent(token)}`
  replyHtml(exchange, 200, subscriptionPage({ ...found, action, top }))
}
