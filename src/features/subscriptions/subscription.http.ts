import { SYSTEM } from '../../admission/access.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { type Exchange, type Headers, reply, replyHtml, wantsHtml } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { chosenLanguage, preferredLanguage } from '../../lib/text/languages.ts'
import { errorPage, type Failure } from '../../pages/page.ts'
import { subscriptionPage } from '../../pages/subscription-page.ts'
import { followLink, type OnGuess, type Subscription, subscriptionOfLink } from './subscription.ts'
import { SUBSCRIPTION_TEXTS, type SubscriptionTexts } from './subscription-texts.ts'

/**
 * The pages behind the links in mail. Opening one changes nothing, because scanners open every link; the
 * button does, and so does the POST of a mail client (RFC 8058), whatever its body.
 */
export const subscriptionRoutes = ({ services, strangers }: HttpParts): ServerRoute[] => {
  const { basePath } = services.config
  const ctxOf = ({ requestId }: Exchange) => createCtx(services, SYSTEM, requestId)
  const guessOf =
    ({ request }: Exchange, token: string): OnGuess =>
    () =>
      strangers.countLink(request, token, services.now())
  const pageRoute = (method: string, path: string, handle: ServerRoute['handle']): ServerRoute => ({
    method,
    path,
    isPage: true,
    failurePage: (failure, exchange) => failurePage(failure, exchange, `${basePath}/`),
    handle,
  })
  const showing = (path: string) =>
    pageRoute('GET', path, async (exchange, { token = '' }) => {
      const ctx = ctxOf(exchange)
      replyPage(ctx, exchange, await subscriptionOfLink(ctx, token, guessOf(exchange, token)), token)
    })
  const changing = (path: string, subscribed: boolean) =>
    pageRoute('POST', path, async (exchange, { token = '' }) => {
      const ctx = ctxOf(exchange)
      const found = await followLink(ctx, token, subscribed, guessOf(exchange, token))
      if (wantsHtml(exchange.request)) replyPage(ctx, exchange, found, token)
      else reply(exchange, 200, TEXT_HEADERS, `${stateOf(found).heading}.\n`)
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

const TEXT_HEADERS: Headers = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

const stateOf = ({ language, subscribed }: Subscription) =>
  SUBSCRIPTION_TEXTS[language][subscribed ? 'subscribed' : 'unsubscribed']

function replyPage(
  { config: { basePath } }: Ctx,
  exchange: Exchange,
  found: Subscription,
  token: string,
): void {
  const top = `${basePath}/`
  const action = `${top}${found.subscribed ? 'unsubscribe' : 'subscribe'}/${encodeURIComponent(token)}`
  const texts = SUBSCRIPTION_TEXTS[found.language]
  replyHtml(exchange, 200, subscriptionPage({ ...found, texts, action, top }))
}

/** Returns a page in the language of the browser: nobody knows whose link it is. */
function failurePage({ status, requestId }: Failure, { request }: Exchange, top: string): string {
  const language = chosenLanguage(preferredLanguage(request.headers['accept-language']))
  const texts = SUBSCRIPTION_TEXTS[language]
  const { heading, advice } = noticeOf(texts, status)
  const failure = { status, message: heading, suggestion: advice, requestId }
  return errorPage(failure, top, { language, reference: texts.reference(status, requestId) })
}

function noticeOf(texts: SubscriptionTexts, status: number) {
  if (status === 404) return texts.deadLink
  return status === 429 ? texts.tooOften : texts.trouble
}
