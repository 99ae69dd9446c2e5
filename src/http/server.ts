import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { AppError, toPublicError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'
import { toAppError } from '../unexpected.ts'
import { discardBody } from './body.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { type Exchange, openExchange, reply, replyJson } from './exchange.ts'
import { RouteTable } from './routes.ts'

/** Anything that the server can dispatch to: a REST operation, a raw route, GraphQL. */
export type ServerRoute = {
  method: string
  path: string
  handle: (exchange: Exchange, params: Record<string, string>) => Promise<void> | void
  /** Another body than the standard envelope, for errors that the contract words differently. */
  errorBody?: ((error: AppError, exchange: Exchange) => ErrorBody | null) | undefined
}

export type ErrorBody = { status: number; body: unknown }

export type ServerOptions = {
  routes: readonly ServerRoute[]
  dashboardUrl: string | null
  log: Logger
  metrics: Metrics
  now: () => Date
}

/** Node's own server with our routes; it answers every request, whatever happens inside. */
export function createHttpServer(): Server {
  return createServer({
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 32 * 1024,
  })
}

export function serveRoutes(server: Server, options: ServerOptions): void {
  const table = new RouteTable(options.routes)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = openExchange(request, response)
    response.once('close', () => observe(exchange, options))
    response.on('error', (error) => options.log.debug({ err: error }, 'the client has gone'))
    // answerRequest catches everything itself.
    void answerRequest(table, exchange, options)
  })
  server.on('clientError', answerBrokenRequest)
}

async function answerRequest(
  table: RouteTable<ServerRoute>,
  exchange: Exchange,
  options: ServerOptions,
): Promise<void> {
  let route: ServerRoute | undefined
  try {
    for (const [name, value] of Object.entries(corsHeaders(exchange, options.dashboardUrl))) {
      exchange.response.setHeader(name, value)
    }
    const match = table.find(exchange.method, exchange.path)
    if (match.kind === 'found') {
      route = match.route
      exchange.route = route.path
      await route.handle(exchange, match.params)
    } else if (match.kind === 'method' && exchange.method === 'OPTIONS') {
      reply(exchange, 204, preflightHeaders(match.allowed), null)
    } else {
      throw match.kind === 'method' ? methodNotAllowed(exchange, match.allowed) : unknownRoute(exchange)
    }
  } catch (error) {
    await answerError(exchange, route, toAppError(error, options.log, exchange.requestId), options)
  }
}

const unknownRoute = (exchange: Exchange) =>
  new AppError('RESOURCE_NOT_FOUND', `There is no ${exchange.method} ${exchange.path.slice(0, 200)}.`, {
    suggestion: 'The API is described at /docs.',
  })

const methodNotAllowed = (exchange: Exchange, allowed: string[]) =>
  new AppError('METHOD_NOT_ALLOWED', `${exchange.method} is not possible here.`, {
    headers: { allow: [...new Set([...allowed, 'OPTIONS'])].join(', ') },
  })

async function answerError(
  exchange: Exchange,
  route: ServerRoute | undefined,
  error: AppError,
  options: ServerOptions,
): Promise<void> {
  await discardBody(exchange.request)
  const special = route?.errorBody?.(error, exchange)
  if (special) return replyJson(exchange, special.status, special.body, error.extras.headers)
  const body = {
    success: false,
    error: toPublicError(error, exchange.requestId),
    timestamp: options.now().toISOString(),
  }
  replyJson(exchange, error.statusCode, body, error.extras.headers)
}

/** What Node could not even parse: the answer is written by hand because there is no response object. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: import('node:stream').Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, text] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = JSON.stringify({
    success: false,
    error: { code: 'BAD_REQUEST', message: `The request is not valid HTTP: ${text}.`, statusCode: status },
    timestamp: new Date().toISOString(),
  })
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** One log line and one measurement a request; no bodies, no keys, no query strings. */
function observe(exchange: Exchange, { log, metrics }: ServerOptions): void {
  const milliseconds = performance.now() - exchange.startedAt
  const { method, route, requestId, response } = exchange
  const status = response.statusCode
  metrics.requests.labels(method, route, String(status)).observe(milliseconds / 1000)
  log.info({ requestId, method, route, status, ms: Math.round(milliseconds * 10) / 10 }, 'request')
}
