import { SYSTEM } from '../../access.ts'
import type { Config } from '../../config.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { type Exchange, replyHtml } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { escapeHtml } from '../../lib/html.ts'
import { followLink, subscriptionOfLink } from './subscription.ts'

/**
 * The pages behind the links in mail. Opening one changes nothing, because scanners open every link; the
 * button does, and so does the POST of a mail client (RFC 8058).
 */
export const subscriptionRoutes = ({ services }: HttpParts): ServerRoute[] => {
  const ctxOf = ({ requestId }: Exchange) => createCtx(services, SYSTEM, requestId)
  const showing = (path: string): ServerRoute => ({
    method: 'GET',
    path,
    handle: (exchange, { token = '' }) => show(ctxOf(exchange), exchange, token),
  })
  const changing = (path: string, subscribed: boolean): ServerRoute => ({
    method: 'POST',
    path,
    handle: (exchange, { token = '' }) => change(ctxOf(exchange), exchange, token, subscribed),
  })
  return [
    showing('/manage/:token'),
    showing('/unsubscribe/:token'),
    changing('/unsubscribe/:token', false),
    showing('/subscribe/:token'),
    changing('/subscribe/:token', true),
  ]
}

async function show(ctx: Ctx, exchange: Exchange, token: string): Promise<void> {
  const subscribed = await subscriptionOfLink(ctx, token)
  replyHtml(exchange, 200, page(ctx.config, subscribed, token))
}

async function change(ctx: Ctx, exchange: Exchange, token: string, subscribed: boolean): Promise<void> {
  await followLink(ctx, token, subscribed)
  replyHtml(exchange, 200, page(ctx.config, subscribed, token))
}

const page = ({ basePath }: Config, subscribed: boolean, token: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Email preferences</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 15vh auto; padding: 0 1rem; color: #1c1c1e; text-align: center }
button { font: inherit; padding: .6rem 1.4rem; border-radius: 8px; border: 1px solid #1c1c1e; background: #1c1c1e; color: #fff; cursor: pointer }
</style></head>
<body>
<h1>Email preferences</h1>
<p>${subscribed ? 'You are subscribed to emails from this sender.' : 'You are unsubscribed. You will get no more such emails.'}</p>
<form method="post" action="${escapeHtml(basePath)}/${subscribed ? 'unsubscribe' : 'subscribe'}/${encodeURIComponent(token)}">
<button>${subscribed ? 'Unsubscribe' : 'Subscribe again'}</button>
</form>
</body>
</html>`
