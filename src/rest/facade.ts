import { Readable } from 'node:stream'
import { type ExecutionResult, execute } from 'graphql'
import { type Actor, ANONYMOUS, projectOf } from '../admission/access.ts'
import { type Outcome, REPLAYED } from '../admission/idempotency.ts'
import type { Config } from '../config.ts'
import { type Ctx, createCtx, type Services } from '../ctx.ts'
import { AppError } from '../errors.ts'
import { causeOf } from '../graphql/graphql-error.ts'
import { nameOf } from '../graphql/rest-route.ts'
import { type Args, type Call, Door } from '../graphql/run-endpoint.ts'
import type { Admission } from '../http/admission.ts'
import { MAX_BODY_BYTES, messageBodyLimit, readJsonObject } from '../http/body.ts'
import {
  type Exchange,
  type Headers,
  JSON_HEADERS,
  reply,
  replyInParts,
  replyInTurn,
} from '../http/exchange.ts'
import { readUpload } from '../http/multipart.ts'
import type { ErrorBody, ServerRoute } from '../http/server.ts'
import { isJsonObject } from '../lib/json.ts'
import { Pieces } from '../paging/pieces.ts'
import { listOf, textInPieces } from './answer-in-pieces.ts'
import { IgnoredFieldsLog } from './ignored-fields-log.ts'
import type { RestOperation } from './operations.ts'
import { argumentsOf, parameterNames } from './query-arguments.ts'
import {
  asHeaderValue,
  type UnknownField,
  unknownFields,
  unknownParameters,
  warningText,
  withLikelyFields,
} from './unknown-fields.ts'

export type RestFacade = {
  services: Services
  admission: Admission
}

type Facade = RestFacade & { ignoredFields: IgnoredFieldsLog }

export function restRoutes(given: RestFacade, operations: readonly RestOperation[]): ServerRoute[] {
  const facade: Facade = { ...given, ignoredFields: new IgnoredFieldsLog(given.services.log) }
  return operations.flatMap((operation) => {
    const { method, path, route } = operation
    const { byQuery } = route
    const errorBody = (error: AppError) => shortError(operation, error)
    const first: ServerRoute = {
      ...{ method, path, errorBody },
      handle: (exchange, params) => handleRest(facade, exchange, operation, params),
    }
    if (!byQuery) return [first]
    const handle: ServerRoute['handle'] = (exchange) =>
      handleRest(facade, { ...exchange, query: renamed(exchange.query, byQuery) }, operation, {})
    return [first, { method, path: byQuery.path, handle, errorBody }]
  })
}

const renamed = (query: URLSearchParams, { parameter, argument }: { parameter: string; argument: string }) =>
  new URLSearchParams([...query].map(([name, value]) => [name === parameter ? argument : name, value]))

/**
 * Answers one REST request: who asks, then the gate of the operation, which reads the body when its time has come, then the
 * shape of the answer. Errors are thrown; the server answers them.
 */
async function handleRest(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  params: Record<string, string>,
): Promise<void> {
  const { endpoint, kind, route } = operation
  const { headers } = exchange.request
  const admitted = facade.admission.admit(exchange, route.rechecksKey)
  // A caller that needs no key is not refused for an old one.
  const actor = await (endpoint.access === 'anyone' ? admitted.catch(asAnonymous) : admitted)
  const pieces = kind === 'Query' ? new Pieces() : null
  const created = createCtx(facade.services, actor, exchange.requestId, {
    caller: facade.admission.callerOf(exchange),
  })
  const ctx: Ctx = { ...created, answerBytes: exchange.bytes, pieces }
  const ignored: UnknownField[] = []
  const call: Call = {
    key: headers['idempotency-key']?.toString(),
    replay: headers['idempotency-replay'] === 'true',
    argument: (name) => params[name],
    readArgs: () => readArgs(facade, exchange, operation, params, ctx, ignored),
  }
  let outcome: Outcome = { data: null, isReplay: false }
  const resolve: Door['resolve'] = async (run) => {
    outcome = await run(call)
    return outcome.data
  }
  const result = await completed(operation, ctx, resolve).catch((error: unknown) => {
    throw withLikelyFields(error, ignored)
  })
  if (!pieces || pieces.all.length === 0) {
    return answer(exchange, operation, result, outcome.isReplay ? REPLAYED : {})
  }
  const complete = async (records: unknown[]) =>
    listOf(await completed(operation, ctx, () => pieces.fill(outcome.data, records)))
  await answerInPieces(exchange, operation, result, pieces, complete)
}

function asAnonymous(error: unknown): Actor {
  if (error instanceof AppError && error.code === 'INVALID_API_KEY') return ANONYMOUS
  throw error
}

/** Reads the request. `ignored` receives the unknown fields of the body. */
async function readArgs(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  params: Record<string, string>,
  ctx: Ctx,
  ignored: UnknownField[],
): Promise<Args> {
  const { query } = exchange
  const args = argumentsOf(operation, query, params)
  if (query.size > 0) {
    const names = parameterNames(operation, params)
    warn(facade, exchange, operation, ctx.actor, unknownParameters(names, query))
  }
  if (!operation.endpoint.inputSchema) return args
  const input = await readInput(exchange, operation, ctx.config)
  if (operation.knownFields && isJsonObject(input))
    ignored.push(...unknownFields(operation.knownFields, input))
  warn(facade, exchange, operation, ctx.actor, ignored)
  return { ...args, input }
}

const readInput = (exchange: Exchange, { route }: RestOperation, config: Config): Promise<object> =>
  route.upload
    ? readUpload(exchange, route.upload)
    : readJsonObject(exchange, route.takesMessage ? messageBodyLimit(config) : MAX_BODY_BYTES)

function warn(
  { ignoredFields }: Facade,
  { response }: Exchange,
  { route }: RestOperation,
  actor: Actor,
  unknown: UnknownField[],
): void {
  if (unknown.length === 0) return
  response.appendHeader('x-mailwright-warning', asHeaderValue(warningText(unknown)))
  const project = projectOf(actor)
  if (!project) return
  ignoredFields.tell(project.id, actor.kind === 'key' ? actor.keyKind : 'user', nameOf(route), unknown)
}

/** The result of an operation's root field, as GraphQL completes it. */
async function completed(
  { schema, document, fieldName }: RestOperation,
  contextValue: Ctx,
  resolve: Door['resolve'],
): Promise<unknown> {
  const rootValue = new Door(resolve)
  const result: ExecutionResult = await execute({ schema, document, contextValue, rootValue })
  const [error] = result.errors ?? []
  if (error) throw causeOf(error)
  return result.data?.[fieldName]
}

async function answer(
  exchange: Exchange,
  operation: RestOperation,
  result: unknown,
  headers: Headers,
): Promise<void> {
  const { otherStatus } = operation.route
  const status = otherStatus?.applies(result) ? otherStatus.status : operation.route.status
  if (status === 204) return reply(exchange, 204, headers, null)
  const body = JSON.stringify(bodyOf(operation, result))
  await replyInTurn(exchange, status, { ...JSON_HEADERS, ...headers }, body)
}

function bodyOf(
  { route: { wrapped, besideData, omittedWhenNull } }: RestOperation,
  result: unknown,
): unknown {
  const isShown = ([name, value]: [string, unknown]) => value !== null || !omittedWhenNull.includes(name)
  const data =
    omittedWhenNull.length > 0 && isJsonObject(result)
      ? Object.fromEntries(Object.entries(result).filter(isShown))
      : result
  if (!wrapped) return data
  if (besideData === null || !isJsonObject(data)) return { success: true, data }
  const { [besideData]: beside, ...others } = data
  return { success: true, data: others, [besideData]: beside }
}

/** Sends a large list while it is read. `result` is the answer without its records. */
async function answerInPieces(
  exchange: Exchange,
  operation: RestOperation,
  result: unknown,
  pieces: Pieces,
  complete: (records: unknown[]) => Promise<unknown[]>,
): Promise<void> {
  const takeRoom = (bytes: number, isFirst: boolean) => exchange.bytes.takePart(bytes, isFirst)
  const takeTurn = (bytes: number) => exchange.bytes.takeTurn(bytes)
  const body = bodyOf(operation, result)
  const text = await textInPieces(body, listOf(result), pieces.all, { takeRoom, takeTurn, complete })
  await replyInParts(exchange, operation.route.status, JSON_HEADERS, Readable.from(text))
}

/** The contract's short form of an error on some endpoints: 400 and `{ error }`. */
function shortError({ route }: RestOperation, error: AppError): ErrorBody | null {
  const { shortErrorFor } = route
  const wanted = error.extras.errors?.find(
    ({ field, code }) =>
      shortErrorFor === 'anyField' || (code === 'required' && shortErrorFor.includes(field)),
  )
  if (!wanted) return null
  const { field, code, message } = wanted
  return {
    status: 400,
    body: { error: code === 'required' ? `${field} ${message}` : `${field}: ${message}` },
  }
}
