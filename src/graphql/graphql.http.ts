import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type Actor, projectOf } from '../admission/access.ts'
import type { Config } from '../config.ts'
import { createCtx, type Services } from '../ctx.ts'
import { AppError, badRequest, invalidBody } from '../errors.ts'
import type { Admission } from '../http/admission.ts'
import { assertJsonType, MAX_BODY_BYTES, messageBodyLimit, readBody } from '../http/body.ts'
import { type Exchange, reply, replyInParts } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import { refusedGraphQL } from './graphql-error.ts'
import { documentNeedsKey, MAX_OPEN_BODY_BYTES } from './limits/documents.ts'
import { Reads } from './limits/reads.ts'
import type { GraphQL } from './yoga.ts'

/** GET serves GraphiQL (in development) and queries, POST serves operations; both through Yoga. */
export function graphqlRoutes(graphql: GraphQL, services: Services, admission: Admission): ServerRoute[] {
  const handle = (exchange: Exchange) => handleGraphQL(graphql, services, admission, exchange)
  const errorBody: ServerRoute['errorBody'] = (error, { requestId }) => refusedGraphQL(error, requestId)
  return [
    { method: 'GET', path: '/graphql', handle, errorBody },
    { method: 'POST', path: '/graphql', handle, errorBody },
  ]
}

async function handleGraphQL(
  graphql: GraphQL,
  services: Services,
  admission: Admission,
  exchange: Exchange,
): Promise<void> {
  const { request, requestId, bytes } = exchange
  const actor = await admission.admit(exchange, false)
  // Strangers are answered too, and each such request costs work.
  if (actor.kind === 'anonymous') await admission.charge(exchange, actor, 1)
  const answer = await graphql.fetch(
    // Only path and query count; the caller chooses Host.
    `http://localhost/graphql?${exchange.query}`,
    request.method === 'POST' ? await postOf(exchange, actor, services.config) : getOf(exchange),
    {
      ...createCtx(services, actor, requestId, { caller: admission.callerOf(exchange) }),
      answerBytes: bytes,
      reads: new Reads(bytes),
      charge: (cost: number) => admission.charge(exchange, actor, cost),
    },
  )
  // A subscription lasts; its body is not needed any more.
  bytes.giveBackBody()
  if (answer.status === 406) throw notAcceptable()
  await bytes.takeReadyAnswer(Number(answer.headers.get('content-length') ?? 0))
  const headers = Object.fromEntries(answer.headers)
  if (headers['content-type']?.startsWith('text/html')) headers['content-security-policy'] = EDITOR_POLICY
  if (answer.body) await replyInParts(exchange, answer.status, headers, Readable.from(answer.body))
  else reply(exchange, answer.status, headers, null)
}

/**
 * The editor is one document with its scripts, styles, fonts and workers, and loads nothing from other
 * services.
 */
const EDITOR_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; font-src data:; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const notAcceptable = () =>
  badRequest('The answer is JSON, or server-sent events to a subscription; the header Accept must allow it.')

/** JSON only: a browser sends the other types without asking, and with the cookies of the dashboard. */
async function postOf(exchange: Exchange, actor: Actor, config: Config): Promise<RequestInit> {
  const { request } = exchange
  assertJsonType(request.headers['content-type'])
  const body = await readBody(exchange, bodyLimit(actor, config)).catch((error: unknown) => {
    const isTooLarge = error instanceof AppError && error.code === 'PAYLOAD_TOO_LARGE'
    throw isTooLarge && actor.kind === 'anonymous' ? documentNeedsKey() : error
  })
  if (!isUtf8(body)) throw invalidBody('The body is not valid UTF-8.')
  const headers = { ...headersOf(request), 'content-type': 'application/json' }
  return { method: 'POST', headers, body: new Uint8Array(body) }
}

/**
 * Only callers that may send need room for a message; others must not make the service keep so much in
 * memory.
 */
function bodyLimit(actor: Actor, config: Config): number {
  if (actor.kind === 'anonymous') return MAX_OPEN_BODY_BYTES
  const maySend = projectOf(actor) !== null && !(actor.kind === 'key' && actor.keyKind === 'public')
  return maySend ? messageBodyLimit(config) : MAX_BODY_BYTES
}

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

/** The headers that Yoga reads; the others have been handled. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const entries = PASSED_ON.map((name) => [name, headers[name]]).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
