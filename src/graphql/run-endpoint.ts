import type { GraphQLResolveInfo } from 'graphql'
import { assertAccess } from '../admission/access.ts'
import { hashInput, replayed, withReservation } from '../admission/idempotency.ts'
import type { Ctx } from '../ctx.ts'
import { fieldError } from '../errors.ts'
import { findUnstorable, MAX_JSON_DEPTH } from '../lib/json.ts'
import { cutText } from '../lib/text/cut-text.ts'
import type { Endpoint } from './endpoint-plugin.ts'
import { checkInput } from './inputs/check-input.ts'
import { inputSchemaOf } from './inputs/input-schema.ts'
import { nameOf } from './rest-route.ts'

/** Characters of a path that an error names. */
const MAX_TOLD = 200

type Args = { input?: unknown; idempotencyKey?: unknown; idempotencyReplay?: unknown }
type Resolve = (args: Args, ctx: Ctx) => unknown

/** What happens around the resolver of every operation, whichever door the request came through. */
export async function runEndpoint(
  endpoint: Endpoint,
  args: Args,
  ctx: Ctx,
  info: GraphQLResolveInfo,
  resolve: Resolve,
): Promise<unknown> {
  const result = await reserveAndRun(endpoint, args, ctx, info, resolve)
  if (endpoint.writes) ctx.answerBytes.mustAnswer()
  return result
}

async function reserveAndRun(
  endpoint: Endpoint,
  args: Args,
  ctx: Ctx,
  info: GraphQLResolveInfo,
  resolve: Resolve,
): Promise<unknown> {
  assertAccess(ctx.actor, endpoint, ctx.config.trackAcceptsSecretKey)
  const { idempotencyKey, idempotencyReplay } = args
  if (typeof idempotencyKey !== 'string') return checkAndRun(args, ctx, info, resolve)
  // The name is the same through every door, and so is a repeat.
  const request = endpoint.rest ? nameOf(endpoint.rest) : `mutation ${info.fieldName}`
  const reserved = { key: idempotencyKey, request, replay: idempotencyReplay === true }
  return withReservation(ctx, reserved, (held) => checkAndRun(args, held, info, resolve))
}

function checkAndRun(args: Args, ctx: Ctx, info: GraphQLResolveInfo, resolve: Resolve): unknown {
  assertStorable(args)
  const checked = ctx.inputIsChecked ? args : checkArgs(args, info)
  const { reservation } = ctx
  if (reservation?.kind === 'replay') return replayed(reservation.stored, checked.input)
  if (reservation?.kind === 'held') reservation.bodyHash = hashInput(checked.input)
  return resolve(checked, ctx)
}

function checkArgs(args: Args, info: GraphQLResolveInfo): Args {
  const field = info.parentType.getFields()[info.fieldName]
  const schema = field ? inputSchemaOf(field) : null
  return schema ? { ...args, input: checkInput(schema, args.input) } : args
}

/** Text that Postgres cannot store is an error of the caller, whatever field it is in. */
function assertStorable(args: Args): void {
  const found = findUnstorable(args)
  if (!found) return
  // A key may be as long as the whole body.
  const field = cutText(found.path.replace(/^input\.?/, ''), MAX_TOLD)
  if (found.reason === 'depth') {
    throw fieldError(field, 'too_big', `must not be nested deeper than ${MAX_JSON_DEPTH} levels`)
  }
  if (found.reason === 'number') throw fieldError(field, 'too_big', 'must be a number below 1.8e308')
  throw fieldError(field, 'invalid_string', 'must not contain NUL characters or broken Unicode')
}
