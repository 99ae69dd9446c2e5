import { Readable } from 'node:stream'
import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import { type Actor, ANONYMOUS, assertAccess, assertStillAdmitted } from '../admission/access.ts'
import { REPLAYED, withReservation } from '../admission/idempotency.ts'
import { type Ctx, createCtx, type Services } from '../ctx.ts'
import { AppError } from '../errors.ts'
import { checkInput } from '../graphql/inputs/check-input.ts'
import { causeOf } from '../graphql/public-error.ts'
import { nameOf } from '../graphql/rest-route.ts'
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
import { assertArguments, parameterNames, queryArguments } from './query-arguments.ts'
import {
  asHeaderValue,
  type UnknownField,
  unknownFields,
  unknownParameters,
  warningText,
  withLikelyFields,
} from './unknown-fields.ts'

export type RestFacade = {
  schema: GraphQLSchema
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
 * Answers one REST request: who asks, may they, within the limit; then the Idempotency-Key, the body, its
 * check, the operation, and the shape of the answer. Errors are thrown; the server answers them.
 */
async function handleRest(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  params: Record<string, string>,
): Promise<void> {
  const { keyRing, config } = facade.services
  const { rechecksKey } = operation.route
  const admitted = facade.admission.admit(exchange, rechecksKey)
  // Who needs no key is not refused for one that is out of date.
  const actor = operation.endpoint.access === 'anyone' ? await admitted.catch(asAnonymous) : await admitted
  assertAccess(actor, operation.endpoint, config.trackAcceptsSecretKey)
  const ctx: Ctx = {
    ...createCtx(facade.services, actor, exchange.requestId),
    inputIsChecked: true,
    answerBytes: exchange.bytes,
    pieces: operation.kind === 'Query' ? Pieces.none() : null,
  }
  try {
    await reserveAndRun(facade, exchange, operation, params, ctx)
  } catch (error) {
    // The statement that checks the key has not run: a key that was only remembered is refused before all else.
    if (rechecksKey) await assertStillAdmitted(keyRing, actor)
    throw error
  }
}

function asAnonymous(error: unknown): Actor {
  if (error instanceof AppError && error.code === 'INVALID_API_KEY') return ANONYMOUS
  throw error
}

async function reserveAndRun(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  params: Record<string, string>,
  ctx: Ctx,
): Promise<void> {
  const key = operation.endpoint.idempotent ? exchange.request.headers['idempotency-key'] : undefined
  if (key === undefined) return run(facade, exchange, operation, params, ctx)
  const replay = exchange.request.headers['idempotency-replay'] === 'true'
  const reserved = { key: String(key), request: nameOf(operation.route), replay }
  return withReservation(ctx, reserved, (held) => run(facade, exchange, operation, params, held))
}

async function run(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  params: Record<string, string>,
  ctx: Ctx,
): Promise<void> {
  const input = await inputOf(facade, exchange, operation, ctx.actor)
  if (exchange.query.size > 0) {
    const names = parameterNames(operation, params)
    warn(facade, exchange, operation, ctx.actor, unknownParameters(names, exchange.query))
  }
  const values = {
    ...queryArguments(operation, exchange.query, params),
    ...params,
    ...(input !== undefined && { input }),
  }
  const execute = (bound: Ctx) => executeOperation(facade.schema, operation, bound, values)
  const result = await execute(ctx)
  const replayed = ctx.reservation?.kind === 'replay'
  if (replayed) await assertStillAdmitted(ctx.services.keyRing, ctx.actor)
  const { pieces } = ctx
  if (!pieces || pieces.all.length === 0) {
    return answer(exchange, operation, result, replayed ? REPLAYED : {})
  }
  const complete = async (records: unknown[]) =>
    listOf(await execute({ ...ctx, pieces: pieces.with(records) }))
  await answerInPieces(exchange, operation, result, pieces, complete)
}

/** The checked body. Fields that nobody knows are ignored, and named in a header, in the errors and in the log. */
async function inputOf(
  facade: Facade,
  exchange: Exchange,
  operation: RestOperation,
  actor: Actor,
): Promise<unknown> {
  const { inputSchema, knownFields, route } = operation
  if (inputSchema === null) return undefined
  if (route.upload) return checkInput(inputSchema, await readUpload(exchange, route.upload))
  const limit = route.takesMessage ? messageBodyLimit(facade.services.config) : MAX_BODY_BYTES
  const body = await readJsonObject(exchange, limit)
  const unknown = knownFields ? unknownFields(knownFields, body) : []
  warn(facade, exchange, operation, actor, unknown)
  try {
    return checkInput(inputSchema, body)
  } catch (error) {
    throw withLikelyFields(error, unknown)
  }
}

function warn(
  { ignoredFields }: Facade,
  { response }: Exchange,
  { route }: RestOperation,
  actor: Actor,
  unknown: UnknownField[],
): void {
  if (unknown.length === 0) return
  response.appendHeader('x-mailwright-warning', asHeaderValue(warningText(unknown)))
  if (actor.kind === 'key') ignoredFields.tell(actor.project.id, actor.keyKind, nameOf(route), unknown)
}

async function executeOperation(
  schema: GraphQLSchema,
  operation: RestOperation,
  contextValue: Ctx,
  variableValues: Record<string, unknown>,
): Promise<unknown> {
  assertArguments(operation, variableValues)
  const { document } = operation
  const result: ExecutionResult = await execute({ schema, document, contextValue, variableValues })
  const [error] = result.errors ?? []
  if (error) throw causeOf(error)
  return result.data?.[operation.fieldName]
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

function bodyOf({ route: { wrapped, omittedWhenNull } }: RestOperation, result: unknown): unknown {
  const isShown = ([name, value]: [string, unknown]) => value !== null || !omittedWhenNull.includes(name)
  const data =
    omittedWhenNull.length > 0 && isJsonObject(result)
      ? Object.fromEntries(Object.entries(result).filter(isShown))
      : result
  return wrapped ? { success: true, data } : data
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
