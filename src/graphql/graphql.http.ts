import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createCtx, type Services } from '../ctx.ts'
import { admit } from '../http/admission.ts'
import { readBody } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import type { RateLimiter } from '../limits.ts'
import { type GraphQL, refusedGraphQL } from './yoga.ts'

/** A GraphQL request may carry a message with attachments in its variables, as the REST body does. */
const BASE64_GROWTH = 4 / 3
const MESSAGE_OVERHEAD = 2 * 1024 * 1024

/** GET serves GraphiQL (in development) and queries, POST serves operations; both through Yoga. */
export function graphqlRoutes(graphql: GraphQL, services: Services, rateLimiter: RateLimiter): ServerRoute[] {
  const handle = (exchange: Exchange) => handleGraphQL(graphql, services, rateLimiter, exchange)
  const errorBody: ServerRoute['errorBody'] = (error, { requestId }) => refusedGraphQL(error, requestId)
  return [
    { method: 'GET', path: '/graphql', handle, errorBody },
    { method: 'POST', path: '/graphql', handle, errorBody },
  ]
}

async function handleGraphQL(
  graphql: GraphQL,
  services: Services,
  rateLimiter: RateLimiter,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange
  const { actor, headers } = await admit(exchange, services.keyRing, rateLimiter, services.now(), false)
  const limit = services.config.maxMessageBytes * BASE64_GROWTH + MESSAGE_OVERHEAD
  const body = request.method === 'POST' ? new Uint8Array(await readBody(request, limit)) : null
  const answer = await graphql.fetch(
    `http://${request.headers.host ?? 'localhost'}${request.url ?? '/graphql'}`,
    { method: exchange.method, headers: headersOf(exchange), body },
    createCtx(services, actor, exchange.requestId),
  )
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('x-request-id', exchange.requestId)
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (!answer.body) return void response.end()
  await pipeline(Readable.from(answer.body), response)
}

function headersOf(exchange: Exchange): Record<string, string> {
  const entries = Object.entries(exchange.request.headers).map(([name, value]) => [name, String(value)])
  return Object.fromEntries(entries)
}
