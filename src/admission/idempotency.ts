import { createHash } from 'node:crypto'
import { type Ctx, projectIdOf } from '../ctx.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { toAppError } from '../observe/unexpected.ts'
import { assertStillAdmitted } from './access.ts'
import {
  type HeldKey,
  releaseKey,
  rememberFailure,
  reserveKey,
  type StoredRequest,
  storedRequest,
} from './idempotency.sql.ts'

/** Longer than any request may run; see `reserveKey`. */
const LONGEST_REQUEST_MS = 120_000
const HOUR = 3_600_000
/** 1 to 255 printable ASCII characters. */
const VALID_KEY = /^[\x20-\x7e]{1,255}$/

/**
 * The reservation of a request: the key, or the first answer, which is returned again when the input is the
 * same.
 */
type Reservation = { kind: 'mine'; holder: string } | { kind: 'answered'; stored: StoredRequest }

/** A request with its Idempotency-Key, named as callers know it ("POST /v1/send"); a `replay` asks for the first answer. */
type KeyedRequest = { key: string; request: string; replay: boolean }

/**
 * Reserves the key before any work is done. A key that is taken is a conflict,
 * also while its first request still runs, unless the caller asks for the first answer (`replay`).
 */
async function reserve(ctx: Ctx, keyed: KeyedRequest): Promise<Reservation> {
  const { key, request, replay } = keyed
  if (!VALID_KEY.test(key)) {
    throw new AppError(
      'INVALID_IDEMPOTENCY_KEY',
      'The Idempotency-Key must have 1 to 255 printable ASCII characters.',
    )
  }
  const projectId = projectIdOf(ctx)
  const now = ctx.now()
  const holder = newId(now)
  const expired = new Date(now.getTime() - ctx.config.idempotencyTtlHours * HOUR)
  const abandoned = new Date(now.getTime() - LONGEST_REQUEST_MS)
  const asPublic = ctx.actor.kind === 'key' && ctx.actor.keyKind === 'public'
  const withSecretKey = !asPublic
  const asked = { projectId, key, holder, request, now, expired, abandoned, withSecretKey }
  const [mine] = await ctx.sql(reserveKey, asked)
  if (mine) return { kind: 'mine', holder }
  const [stored] = await ctx.sql(storedRequest, { projectId, key })
  // It was released between the two statements: the first request failed, so this one may run.
  if (!stored) return reserve(ctx, keyed)
  if (asPublic && stored.withSecretKey) throw keyTaken()
  if (replay && stored.statusCode !== null && stored.request === request) return { kind: 'answered', stored }
  throw keyReused(stored)
}

const KEY_TAKEN = 'This Idempotency-Key has already been used by the project.'

/**
 * With the public key anyone can try keys that the server may have used: the answer tells nothing of its
 * request.
 */
const keyTaken = () =>
  new AppError('IDEMPOTENCY_KEY_REUSED', KEY_TAKEN, { suggestion: 'Use a new key for a new request.' })

const keyReused = (stored: StoredRequest) =>
  new AppError('IDEMPOTENCY_KEY_REUSED', KEY_TAKEN, {
    details: {
      key: stored.key,
      originalRequest: stored.request,
      originalRequestAt: stored.createdAt.toISOString(),
      originalStatusCode: stored.statusCode,
    },
    suggestion:
      'Use a new key for a new request, or "Idempotency-Replay: true" to get the first answer again.',
  })

/** Identifies the checked input, so that a replay can be refused when the body is another one. */
const hashInput = (input: unknown): Buffer => createHash('sha256').update(JSON.stringify(input)).digest()

/** Tells over REST that an answer was given before. */
export const REPLAYED = { 'idempotency-replayed': 'true' }

/** The stored answer for a failure of ours. */
type StoredFailure = { code: ErrorCode; message: string }

/** The first answer, given again. Throws the stored failure, or a conflict when the input differs. */
function replayed(stored: StoredRequest, input: unknown): unknown {
  const same = stored.bodyHash?.equals(hashInput(input))
  if (!same || stored.response === null || stored.statusCode === null) throw keyReused(stored)
  if (stored.statusCode < 500) return JSON.parse(stored.response)
  const { code, message }: StoredFailure = JSON.parse(stored.response)
  throw new AppError(code, message, { headers: REPLAYED })
}

/** The result of an operation, and whether it is the first answer returned again. */
export type Outcome = { data: unknown; isReplay: boolean }

/**
 * Reserves the key, reads the arguments and runs the work, which finds the key in its ctx and stores a
 * success in its own statement. An error that the caller can correct (4xx), or a refusal before the work
 * began, releases the key; a failure of ours (5xx) keeps it.
 */
export async function underKey<Args extends { input?: unknown }>(
  ctx: Ctx,
  keyed: KeyedRequest,
  readArgs: () => Promise<Args>,
  run: (args: Args, ctx: Ctx) => unknown,
): Promise<Outcome> {
  const reservation = await reserve(ctx, keyed)
  if (reservation.kind === 'answered') {
    const { input } = await readArgs()
    await assertStillAdmitted(ctx.services.keyRing, ctx.actor)
    return { data: replayed(reservation.stored, input), isReplay: true }
  }
  let held: HeldKey = { key: keyed.key, holder: reservation.holder, bodyHash: null }
  try {
    const args = await readArgs()
    held = { ...held, bodyHash: hashInput(args.input) }
    return { data: await run(args, { ...ctx, heldKey: held }), isReplay: false }
  } catch (error) {
    const failure = toAppError(error, ctx.log, ctx.requestId)
    await settle(ctx, held, failure)
    throw failure
  }
}

async function settle(ctx: Ctx, { key, holder, bodyHash }: HeldKey, failure: AppError): Promise<void> {
  const owner = { projectId: projectIdOf(ctx), key, holder }
  try {
    if (failure.statusCode < 500 || failure.extras.nothingDone) await ctx.sql(releaseKey, owner)
    else {
      const { code, message, statusCode } = failure
      const answer = JSON.stringify({ code, message } satisfies StoredFailure)
      await ctx.sql(rememberFailure, { ...owner, statusCode, bodyHash, answer })
    }
  } catch (error) {
    // The reservation stays open and gives way after LONGEST_REQUEST_MS; the caller needs the first error.
    ctx.log.warn({ err: error, requestId: ctx.requestId }, 'idempotency key could not be settled')
  }
}
