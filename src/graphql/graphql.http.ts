import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Actor } from '../access.ts'
import type { Config } from '../config.ts'
import { createCtx, type Services } from '../ctx.ts'
import { badRequest, invalidBody } from '../errors.ts'
import { admit } from '../http/admission.ts'
import { assertJsonType, MAX_BODY_BYTES, messageBodyLimit, readBody } from '../http/body.ts'
import { type Exchange, reply, replyInParts } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import type { RateLimiter } from '../limits.ts'
import { refusedGraphQL } from './public-error.ts'
import type { GraphQL } from './yoga.ts'

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
  const { request, requestId, bytes } = exchange
  const actor = await admit(exchange, services.keyRing, rateLimiter, services.now(), false)
  const answer = await graphql.fetch(
    // Only path and query count; what stands in Host is not ours.
    `http://localhost/graphql?${exchange.query}`,
    request.method === 'POST' ? await postOf(exchange, bodyLimit(actor, services.config)) : getOf(exchange),
    { ...createCtx(services, actor, requestId), answerBytes: bytes },
  )
  if (answer.status === 406) throw badRequest('The answer is JSON; the header Accept must allow it.')
  bytes.takeReadyAnswer(Number(answer.headers.get('content-length') ?? 0))
  const headers = Object.fromEntries(answer.headers)
  if (answer.body) await replyInParts(exchange, answer.status, headers, answer.body)
  else reply(exchange, answer.status, headers, null)
}

/** JSON only: a browser sends the other types without asking, and with the cookies of the dashboard. */
async function postOf(exchange: Exchange, limit: number): Promise<RequestInit> {
  const { request } = exchange
  assertJsonType(request.headers['content-type'])
  const body = await readBody(exchange, limit)
  if (!isUtf8(body)) throw invalidBody('The body is not valid UTF-8.')
  const headers = { ...headersOf(request), 'content-type': 'application/json' }
  return { method: 'POST', headers, body: new Uint8Array(body) }
}

/** Only who may send needs room for a message; nobody else makes us keep so much in memory. */
const bodyLimit = (actor: Actor, config: Config): number =>
  actor.kind === 'key' && actor.keyKind === 'secret' ? messageBodyLimit(config) : MAX_BODY_BYTES

function getOf({ request, query }: Exchange): RequestInit {
  for (const name of ['variables', 'extensions']) assertJson(name, query.get(name))
  return { method: 'GET', headers: headersOf(request) }
}

function assertJson(name: string, text: string | null): void {
  try {
    if (text) JSON.parse(text)
  } catch {
    throw badRequest(`The parameter ${name} must be JSON.`)
  }
}

const PASSED_ON = ['accept', 'authorization', 'x-graphql-yoga-csrf']

/** What Yoga looks at; the rest has been dealt with. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const entries = PASSED_ON.map((name) => [name, headers[name]]).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
