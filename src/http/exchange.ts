import type { IncomingMessage, ServerResponse } from 'node:http'
import { discardBody, isReceiving } from './body.ts'
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

/** A proxy's form of the request target (RFC 9112, 3.2.2): the path follows the origin. */
const ORIGIN = /^https?:\/\/[^/?#]*/i
const NO_QUERY = new URLSearchParams()

/** `basePath` is what a proxy may have left in front of our paths. */
export function openExchange(request: IncomingMessage, response: ServerResponse, basePath = ''): Exchange {
  const url = pathBelow(basePath, (request.url ?? '/').replace(ORIGIN, ''))
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

const pathBelow = (basePath: string, url: string): string =>
  basePath !== '' && url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url

export type Headers = Record<string, string>

/**
 * Answers, and ends the exchange once the request has been received. `body` null sends no body. The answer
 * goes out at once, before whatever is left of the request's body.
 */
export function reply(
  exchange: Exchange,
  status: number,
  headers: Headers,
  body: string | Buffer | null,
): void {
  const { request, response } = exchange
  if (response.headersSent) return
  const length: Headers = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  response.writeHead(status, { ...headers, 'x-request-id': exchange.requestId, ...length })
  if (!isReceiving(request)) return void response.end(body ?? undefined)
  if (body === null) response.flushHeaders()
  else response.write(body)
  // discardBody never fails.
  void discardBody(request).then(() => response.end())
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
