import { fixedAnswer, HTML_HEADERS, replyFixed } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { loadAssets } from '../../pages/assets.ts'
import { homePage } from '../../pages/home-page.ts'

/** Styles and scripts are asked for again each time and answered with 304; the sign is kept for a day. */
const cachingOf = (path: string) => (path.startsWith('/favicon') ? 'public, max-age=86400' : 'no-cache')

/** The page at the top of the service, and the files that all pages load. */
export function homeRoutes({ services: { config } }: HttpParts): ServerRoute[] {
  const html = homePage({ development: config.environment !== 'production', apiUrl: config.apiUrl })
  const answers = [
    { path: '/', answer: fixedAnswer({ ...HTML_HEADERS, 'cache-control': 'no-cache' }, html) },
    ...loadAssets().map(({ path, contentType, text }) => ({
      path,
      answer: fixedAnswer(
        {
          'content-type': contentType,
          'x-content-type-options': 'nosniff',
          'cache-control': cachingOf(path),
        },
        text,
      ),
    })),
  ]
  return answers.map(({ path, answer }) => ({
    method: 'GET',
    path,
    handle: (exchange) => replyFixed(exchange, answer),
  }))
}
