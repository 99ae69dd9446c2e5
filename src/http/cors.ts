import type { Exchange, Headers } from './exchange.ts'

const REQUEST_HEADERS = 'authorization, content-type, idempotency-key, idempotency-replay, x-request-id'
const ANSWER_HEADERS =
  'x-request-id, idempotency-replayed, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset'

/** /v1 may be called from any page (keys are sent by hand); the rest only from the dashboard's origin. */
export function corsHeaders(exchange: Exchange, dashboardUrl: string | null): Headers {
  const { origin } = exchange.request.headers
  if (!origin) return {}
  if (exchange.path.startsWith('/v1/')) {
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

export const preflightHeaders = (allowedMethods: string[]): Headers => ({
  'access-control-allow-methods': allowedMethods.join(', '),
  'access-control-allow-headers': REQUEST_HEADERS,
  'access-control-max-age': '86400',
})
