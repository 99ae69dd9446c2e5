import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Budgets, RequestBytes } from './budgets/request-bytes.ts'
import { discardBody, isReceiving } from './discard-body.ts'
import { ANSWER_PACE, atPace, type Pace } from './pace.ts'

/** Incoming X-Request-Ids that are kept: they hold nothing that could forge a log line or a header. */
const VALID = /^[A-Za-z0-9._:/+=@-]{1,128}$/

export const requestIdFrom = (header: string | string[] | undefined): string | null =>
  typeof header === 'string' && VALID.test(header) ? header : null

export const newRequestId = (): string => randomUUID()

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
  /** Bytes that the request has taken of the process's budgets. */
  bytes: RequestBytes
  /** How fast an answer has to be taken that has taken of them. */
  pace: Pace
}

/** A proxy's form of the request target (RFC 9112, 3.2.2): the path follows the origin. */
const ORIGIN = /^https?:\/\/[^/?#]*/i
const NO_QUERY = new URLSearchParams()

type ExchangeOptions = {
  budgets: Budgets
  /** Prefix of our paths that a proxy may have left. */
  basePath?: string | undefined
  /** Whether there is something at a path. */
  isPath?: (path: string) => boolean
  pace?: Pace | undefined
}

export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { budgets, basePath = '', isPath = () => true, pace = ANSWER_PACE }: ExchangeOptions,
): Exchange {
  const url = (request.url ?? '/').replace(ORIGIN, '')
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const below = basePath !== '' && path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
  return {
    request,
    response,
    requestId: requestIdFrom(request.headers['x-request-id']) ?? newRequestId(),
    method: request.method ?? 'GET',
    // A proxy may have removed the base path already, and the rest may begin with the same word.
    path: below !== path && isPath(below) ? below : path,
    query: mark === -1 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1)),
    route: 'unmatched',
    startedAt: performance.now(),
    bytes: new RequestBytes(budgets),
    pace,
  }
}

export type Headers = Record<string, string>

/**
 * Answers, and ends the exchange once the request has been received. `body` null sends no body. The answer
 * goes out at once, before whatever is left of the request's body. Throws SERVICE_UNAVAILABLE when it is large and
 * too much of others is on its way; an error is told in any case.
 */
export function reply(
  exchange: Exchange,
  status: number,
  headers: Headers,
  body: string | Buffer | null,
): void {
  const length = body === null ? 0 : Buffer.byteLength(body)
  if (status < 400 && !exchange.response.headersSent) exchange.bytes.takeReadyAnswerNow(length)
  send(exchange, status, headers, body, length)
}

/** The same for an answer that can wait for room. */
export async function replyInTurn(
  exchange: Exchange,
  status: number,
  headers: Headers,
  body: string,
): Promise<void> {
  await exchange.bytes.takeReadyAnswer(Buffer.byteLength(body))
  reply(exchange, status, headers, body)
}

function send(
  exchange: Exchange,
  status: number,
  headers: Headers,
  body: string | Buffer | null,
  length: number,
): void {
  const { request, response, requestId } = exchange
  if (response.headersSent) return
  const lengthHeader: Headers = body === null ? {} : { 'content-length': String(length) }
  response.writeHead(status, { ...headers, 'x-request-id': requestId, ...lengthHeader })
  if (body !== null && exchange.bytes.holdsRoom) return void sendAtPace(exchange, body)
  if (!isReceiving(request)) return void response.end(body ?? undefined)
  if (body === null) response.flushHeaders()
  else response.write(body)
  // discardBody never fails.
  void discardBody(request).then(() => response.end())
}

/** A client that leaves, or is too slow, is no failure. */
async function sendAtPace({ request, response, pace }: Exchange, body: string | Buffer): Promise<void> {
  const steps = atPace([body], pace, () => response.destroy())
  try {
    await pipeline(steps, response, { end: false })
  } catch {
    return void response.destroy()
  }
  if (isReceiving(request)) await discardBody(request)
  response.end()
}

/** An answer that is the same for every caller, created once. */
export type FixedAnswer = { headers: Headers; body: Buffer }

export function fixedAnswer(headers: Headers, text: string): FixedAnswer {
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`
  return { headers: { ...headers, etag }, body: Buffer.from(text) }
}

/** However many clients are slow to take it, it is in memory once. */
export function replyFixed(exchange: Exchange, { headers, body }: FixedAnswer): void {
  const isKnown = matches(exchange.request.headers['if-none-match'], headers.etag)
  if (isKnown) send(exchange, 304, headers, null, 0)
  else send(exchange, 200, headers, body, body.length)
}

/** RFC 9110, 13.1.2: a weak tag is as good for the answer to a GET. */
export const matches = (ifNoneMatch: string | undefined, etag: string | undefined): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))

/**
 * Sends an answer of parts as fast as the client takes them, and ends their source. A client that leaves meanwhile, or
 * has left already, is no failure.
 */
export async function replyInParts(
  exchange: Exchange,
  status: number,
  headers: Headers,
  parts: Readable,
): Promise<void> {
  const { method, response, requestId, bytes, pace } = exchange
  if (method === 'HEAD' || response.destroyed) endSource(parts)
  if (response.destroyed) return
  response.writeHead(status, { ...headers, 'x-request-id': requestId })
  if (method === 'HEAD') return void response.end()
  const slowly = (source: AsyncIterable<string | Uint8Array>) =>
    atPace(source, pace, () => response.destroy())
  await (bytes.holdsRoom ? pipeline(parts, slowly, response) : pipeline(parts, response)).catch(
    ignoreDeparture,
  )
}

/** Ends the source after its first part: before it, a stream of events does not know what to end. */
function endSource(parts: Readable): void {
  // An error after the end concerns no reader.
  parts.on('error', () => {})
  parts.once('readable', () => parts.destroy())
}

function ignoreDeparture(error: unknown): void {
  const left = error instanceof Error && 'code' in error && GONE.includes(String(error.code))
  if (!left) throw error
}

const GONE = [
  ...['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE', 'ERR_STREAM_DESTROYED'],
  ...['ECONNRESET', 'EPIPE'],
]

export const JSON_HEADERS: Headers = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
}

export const replyJson = (exchange: Exchange, status: number, body: unknown, headers: Headers = {}): void =>
  reply(exchange, status, { ...JSON_HEADERS, ...headers }, JSON.stringify(body))

/** Whether it comes from a browser that goes to a page. */
export const wantsHtml = ({ headers }: IncomingMessage): boolean =>
  (headers.accept ?? '').includes('text/html')

/** Our own pages: they load only from here, and no other page may frame them or receive their forms. */
export const HTML_HEADERS: Headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

export const replyHtml = (exchange: Exchange, status: number, html: string, headers: Headers = {}): void =>
  reply(exchange, status, { ...HTML_HEADERS, ...headers }, html)
