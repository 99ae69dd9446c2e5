import { ANONYMOUS } from '../../admission/access.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { type Exchange, reply } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { cookieNamed } from '../../lib/net/cookies.ts'
import { beginFlow, endFlow, FLOW_SECONDS } from './oauth.ts'
import { requesterOf } from './sign-in.ts'

/** The cookie that binds a sign-in through a provider to the browser in which it began. */
const COOKIE = 'mailwright_flow'

/** The two pages of a sign-in through a provider, which a browser goes to: there, and back. */
export function oauthRoutes({ services, admission }: HttpParts): ServerRoute[] {
  const { config } = services
  const ctxOf = (exchange: Exchange): Ctx => {
    const ctx = createCtx(services, ANONYMOUS, exchange.requestId, { caller: admission.callerOf(exchange) })
    requesterOf(ctx)
    return ctx
  }
  const secure = config.apiUrl.startsWith('https:') ? '; Secure' : ''
  const keep = (ctx: Ctx, value: string, seconds: number) =>
    ctx.caller?.setCookie(
      `${COOKIE}=${value}; Path=${config.basePath}/auth/oauth; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
    )
  const goTo = (exchange: Exchange, location: string) =>
    reply(exchange, 302, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }, null)
  const page = (path: string, handle: ServerRoute['handle']): ServerRoute => ({
    method: 'GET',
    path,
    isPage: true,
    handle,
  })
  return [
    page('/auth/oauth/:provider', async (exchange, { provider = '' }) => {
      const ctx = ctxOf(exchange)
      const { url, kept } = await beginFlow(ctx, provider)
      keep(ctx, kept, FLOW_SECONDS)
      goTo(exchange, url)
    }),
    page('/auth/oauth/:provider/callback', async (exchange, { provider = '' }) => {
      const ctx = ctxOf(exchange)
      const kept = cookieNamed(COOKIE, exchange.request.headers.cookie) ?? ''
      keep(ctx, '', 0)
      await endFlow(ctx, provider, exchange.query, kept)
      goTo(
        exchange,
        config.dashboardUrl === null ? `${config.apiUrl}/auth/account` : `${config.dashboardUrl}/`,
      )
    }),
  ]
}
