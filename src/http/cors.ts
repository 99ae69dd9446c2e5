import type { Exchange, Headers } from './exchange.ts'

const REQUEST_HEADERS = 'authorization, content-type, idempotency-key, idempotency-replay, x-request-id'
/**
 * Headers that only the dashboard sends: the project of its cookie, and proof that no plain form sends the
 * query.
 */
const DASHBOARD_HEADERS = 'x-project-id, x-graphql-yoga-csrf'
const ANSWER_HEADERS =
  'x-request-id, x-mailwright-warning, idempotency-replayed, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset'

const isPublic = ({ path }: Exchange) => path.startsWith('/v1/')

/** /v1 may be called from any page (keys are sent by hand); the rest only from the dashboard's origin. */
export function corsHeaders(exchange: Exchange, dashboardUrl: string | null): Headers {
  const { origin } = exchange.request.headers
  if (isPublic(exchange)) {
    if (!origin) return {}
    return { 'access-control-allow-origin': '*', 'access-control-expose-headers': ANSWER_HEADERS }
  }
  if (dashboardUrl === null || origin !== new URL(dashboardUrl).origin) return { vary: 'origin' }
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': ANSWER_HEADERS,
    vary: 'origin',
  }
}

/** `methods` as the header lists them. The answer says nothing to an origin that `corsHeaders` has not allowed. */
export const preflightHeaders = (exchange: Exchange, methods: string): Headers => ({
  'access-control-allow-methods': methods,
  'access-control-allow-headers': isPublic(exchange)
    ? REQUEST_HEADERS
    : `${REQUEST_HEADERS}, ${DASHBOARD_HEADERS}`,
  'access-control-max-age': '86400',
})
