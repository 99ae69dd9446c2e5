import type { IncomingMessage, ServerResponse } from 'node:http'
import { newRequestId, requestIdFrom } from './request-id.ts'

/** One request and its answer, as raw routes and the REST facade see them. */
export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
  method: string
  /** Still percent-encoded. */
  path: string
  query: URLSearchParams
  /** The pattern of the matched route, for metrics and logs; never the path with its ids. */
  route: string
  startedAt: number
}

const NO_QUERY = new URLSearchParams()

export function openExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  return {
    request,
    response,
    requestId: requestIdFrom(request.headers['x-request-id']) ?? newRequestId(),
    method: request.method ?? 'GET',
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1)),
    route: 'unmatched',
    startedAt: performance.now(),
  }
}

export type Headers = Record<string, string>

/** Ends the exchange. `body` null sends no body. */
export function reply(
  exchange: Exchange,
  status: number,
  headers: Headers,
  body: string | Buffer | null,
): void {
  const { response } = exchange
  if (response.headersSent) return
  const length: Headers = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  response.writeHead(status, { ...headers, 'x-request-id': exchange.requestId, ...length })
  response.end(body ?? undefined)
}

const JSON_HEADERS: Headers = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
}

export const replyJson = (exchange: Exchange, status: number, body: unknown, headers: Headers = {}): void =>
  reply(exchange, status, { ...JSON_HEADERS, ...headers }, JSON.stringify(body))

/** A page of our own: no script, nothing loaded from elsewhere, not to be framed. */
export const replyHtml = (exchange: Exchange, status: number, html: string): void =>
  reply(
    exchange,
    status,
    {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https: http:; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
    html,
  )
