import {
  createServer,
  type ServerOptions as HttpServerOptions,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Logger } from 'pino'
import { AppError, badRequest, toPublicError } from '../errors.ts'
import type { Metrics } from '../observe/metrics.ts'
import { toAppError } from '../observe/unexpected.ts'
import { errorPage, type Failure } from '../pages/page.ts'
import { answerBrokenRequests } from './broken-requests.ts'
import { type Budgets, createBudgets } from './budgets/request-bytes.ts'
import { Turns } from './budgets/turns.ts'
import { requestsUnderWay } from './close-server.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { type Exchange, openExchange, reply, replyHtml, replyJson, wantsHtml } from './exchange.ts'
import type { Pace } from './pace.ts'
import { RouteTable } from './routes.ts'

/** Anything that the server can dispatch to: a REST operation, a raw route, GraphQL. */
export type ServerRoute = {
  method: string
  path: string
  handle: (exchange: Exchange, params: Record<string, string>) => Promise<void> | void
  /** Another body than the standard envelope, for errors that the contract words differently. */
  errorBody?: ((error: AppError, exchange: Exchange) => ErrorBody | null) | undefined
  /** People look at it: a browser gets a page in place of an error's envelope. */
  isPage?: true
  /** What a browser gets then, when it is not the usual page. */
  failurePage?: (failure: Failure, exchange: Exchange) => string
}

export type ErrorBody = { status: number; body: unknown }

export type ServerOptions = {
  routes: readonly ServerRoute[]
  /** Path of the public address: requests are accepted with and without it. */
  basePath?: string
  dashboardUrl: string | null
  log: Logger
  metrics: Metrics
  now: () => Date
  budgets?: Budgets
  pace?: Pace
}

/** How long a client may take nothing of an answer that is on its way to it, in milliseconds; Node looks once more then. */
const STALLED_MS = 15_000

/** Node's own server with our routes; it answers every request, whatever happens inside. */
export function createHttpServer({
  stalledMs = STALLED_MS,
  ...options
}: HttpServerOptions & { stalledMs?: number } = {}): Server {
  const server = createServer({
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 32 * 1024,
    // Node would refuse it without a body; see assertHost.
    requireHostHeader: false,
    ...options,
  })
  server.setTimeout(stalledMs)
  return server
}

/** Parts of the server that wait for the end of a response at the same time; Node takes more than ten for a leak. */
const MAX_LISTENERS = 30

/** Serves the routes. The function it returns closes the server without cutting anything off. */
export function serveRoutes(server: Server, options: ServerOptions): () => Promise<void> {
  const { budgets = createBudgets(), basePath, pace, log } = options
  const table = new RouteTable(options.routes)
  const isPath = (path: string) => table.find('GET', path).kind !== 'none'
  const { follow, close } = requestsUnderWay(server)
  const turns = new Turns((request, response) => {
    follow(response)
    response.setMaxListeners(MAX_LISTENERS)
    const exchange = openExchange(request, response, { budgets, basePath, isPath, pace })
    let isHandled = false
    response.once('close', () => {
      if (isHandled) exchange.bytes.giveBack()
      observe(exchange, options)
    })
    response.on('error', (error) => log.debug({ err: error }, 'the client has left'))
    const end = () => {
      isHandled = true
      if (response.closed) exchange.bytes.giveBack()
    }
    void answerRequest(table, exchange, options).then(end, (error: unknown) => {
      log.error({ err: error, requestId: exchange.requestId }, 'an error could not be answered')
      response.destroy()
      end()
    })
  })
  const serve = (request: IncomingMessage, response: ServerResponse) => turns.take(request, response)
  server.on('request', serve)
  // An unknown expectation may be ignored; Node would answer 417 without a body.
  server.on('checkExpectation', serve)
  // Nothing has come or gone for a while. While a request is being worked on that is no reason to end it.
  server.on('timeout', (socket) => {
    if (socket.writableLength > 0 || !turns.isBusy(socket)) socket.destroy()
  })
  answerBrokenRequests(server, options)
  return close
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
    assertHost(exchange.request)
    // Node leaves the body of an answer to HEAD out by itself.
    const match = table.find(exchange.method === 'HEAD' ? 'GET' : exchange.method, exchange.path)
    if (match.kind === 'found') {
      route = match.route
      exchange.route = route.path
      await route.handle(exchange, match.params)
    } else if (match.kind === 'method' && exchange.method === 'OPTIONS') {
      const methods = allowedMethods(match.allowed)
      reply(exchange, 204, { allow: methods, ...preflightHeaders(exchange, methods) }, null)
    } else {
      throw match.kind === 'method'
        ? methodNotAllowed(exchange, match.allowed)
        : unknownRoute(exchange, table)
    }
  } catch (error) {
    answerError(exchange, route, toAppError(error, options.log, exchange.requestId), options)
  }
}

/** Most characters of a path that an answer repeats. */
const MAX_TOLD = 200

function unknownRoute({ method, path }: Exchange, table: RouteTable<ServerRoute>): AppError {
  const near = table.near(path)
  return new AppError('RESOURCE_NOT_FOUND', `There is no ${method} ${path.slice(0, MAX_TOLD)}.`, {
    suggestion: near
      ? `Did you mean ${near.methods.includes(method) ? method : near.methods.join(' or ')} ${near.path}? The API is described at /docs.`
      : 'The API is described at /docs.',
  })
}

function methodNotAllowed({ method, path }: Exchange, allowed: string[]): AppError {
  const methods = [...new Set(allowed)].join(' or ')
  return new AppError(
    'METHOD_NOT_ALLOWED',
    `${method} is not possible at ${path.slice(0, MAX_TOLD)}; it takes ${methods}.`,
    { headers: { allow: allowedMethods(allowed) }, suggestion: 'The API is described at /docs.' },
  )
}

function allowedMethods(methods: string[]): string {
  const head = methods.includes('GET') ? ['HEAD'] : []
  return [...new Set([...methods, ...head, 'OPTIONS'])].join(', ')
}

/** RFC 9112, 3.2: a request of HTTP/1.1 without Host is refused. */
function assertHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === '1.1' && headers.host === undefined) throw badRequest('The header Host is missing.')
}

function answerError(
  exchange: Exchange,
  route: ServerRoute | undefined,
  error: AppError,
  options: ServerOptions,
): void {
  // The answer failed in the middle: the client must not take the part for the whole.
  if (exchange.response.headersSent) return void exchange.response.destroy()
  const { statusCode, message, extras } = error
  if (isForPeople(exchange, route)) {
    const failure = {
      status: statusCode,
      message,
      suggestion: extras.suggestion,
      requestId: exchange.requestId,
    }
    const page = route?.failurePage?.(failure, exchange) ?? errorPage(failure, `${options.basePath ?? ''}/`)
    return void replyHtml(exchange, statusCode, page, extras.headers)
  }
  const special = route?.errorBody?.(error, exchange)
  const { status, body } = special ?? envelopeOf(error, exchange, options.now())
  replyJson(exchange, status, body, error.extras.headers)
}

/** A browser that asks for a page, or for an unknown path. Programs do not ask for HTML. */
const isForPeople = ({ method, request }: Exchange, route: ServerRoute | undefined): boolean =>
  (route ? route.isPage === true : method === 'GET') && wantsHtml(request)

const envelopeOf = (error: AppError, { requestId }: Exchange, now: Date): ErrorBody => ({
  status: error.statusCode,
  body: { success: false, error: toPublicError(error, requestId), timestamp: now.toISOString() },
})

/** One log line and one measurement a request; no bodies, no keys, no query strings. */
function observe(exchange: Exchange, { log, metrics }: ServerOptions): void {
  const milliseconds = performance.now() - exchange.startedAt
  const { method, route, requestId, response } = exchange
  // 499, as proxies have it: the client went away before there was an answer.
  const status = response.headersSent ? response.statusCode : 499
  metrics.requests.labels(method, route, String(status)).observe(milliseconds / 1000)
  log.info({ requestId, method, route, status, ms: Math.round(milliseconds * 10) / 10 }, 'request')
}
