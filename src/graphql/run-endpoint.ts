import type { GraphQLFieldResolver } from 'graphql'
import type { z } from 'zod'
import { assertStillAdmitted } from '../admission/access.ts'
import { checkInput } from '../admission/check-input.ts'
import { type Outcome, underKey } from '../admission/idempotency.ts'
import { type Guarded, permitted } from '../admission/permission.ts'
import type { Ctx } from '../ctx.ts'
import { fieldError } from '../errors.ts'
import { findUnstorable, MAX_JSON_DEPTH } from '../lib/json.ts'
import { cutText } from '../lib/text/cut-text.ts'
import type { RestRoute } from './rest-route.ts'

/**
 * The options that turn a root field into an operation; the REST facade and the API description read them
 * too.
 */
export type Endpoint = Guarded & {
  /** How it is named to callers, whichever door they use: "POST /v1/send", or "mutation name" without a route. */
  name: string
  rest: RestRoute | null
  idempotent: boolean
  /** Checks the argument `input`; null when there is none. */
  inputSchema: z.ZodType | null
}

/** Characters of a path that an error names. */
const MAX_TOLD = 200

/** The arguments of a root field. */
export type Args = { input?: unknown; idempotencyKey?: unknown; idempotencyReplay?: unknown }

/** What a door hands in of a request. */
export type Call = {
  /** The Idempotency-Key that came with it. */
  key: string | undefined
  /** Whether a repeat gets the first answer again. */
  replay: boolean
  /** An argument that is known before the request has been let in: over REST one of the path. */
  argument: (name: string) => unknown
  /** Reads the arguments, with the input as it came, once the request has been let in. */
  readArgs: () => Args | Promise<Args>
}

/**
 * The one gate in front of every operation, whichever door its request came through: access, Idempotency-Key, reading of the
 * input, its check, the operation. Who asks was counted when it was admitted (`Admission`): GraphQL has to count all root
 * fields of a document before the first one runs.
 */
export async function runEndpoint(
  endpoint: Endpoint,
  { key, replay, argument, readArgs }: Call,
  given: Ctx,
  resolve: (args: Args, ctx: Ctx) => unknown,
): Promise<Outcome> {
  const ctx = await permitted(given, endpoint, argument)
  const readChecked = async () => checkedArgs(endpoint, await readArgs())
  try {
    const outcome =
      endpoint.idempotent && key !== undefined
        ? await underKey(ctx, { key, replay, request: endpoint.name }, readChecked, resolve)
        : { data: await resolve(await readChecked(), ctx), isReplay: false }
    if (endpoint.writes) ctx.answerBytes.mustAnswer()
    return outcome
  } catch (error) {
    // The statement that checks the key has not run: a key that was only remembered is refused before all else.
    await assertStillAdmitted(ctx.services.keyRing, ctx.actor)
    throw error
  }
}

function checkedArgs({ inputSchema }: Endpoint, args: Args): Args {
  const checked = inputSchema ? { ...args, input: checkInput(inputSchema, args.input) } : args
  assertStorable(checked)
  return checked
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

type Run = (call: Call) => Promise<Outcome>

/** The root value of an operation that came through another door than GraphQL: it gives what the root field resolves to. */
export class Door {
  readonly resolve: (run: Run) => unknown

  constructor(resolve: (run: Run) => unknown) {
    this.resolve = resolve
  }
}

/** The resolver of a root field, behind the gate. */
export function gated(
  endpoint: Endpoint,
  resolver: GraphQLFieldResolver<unknown, Ctx, Args>,
): GraphQLFieldResolver<unknown, Ctx, Args> {
  return (root, args, ctx, info) => {
    const run: Run = (call) =>
      runEndpoint(endpoint, call, ctx, (checked, bound) => resolver(root, checked, bound, info))
    if (root instanceof Door) return root.resolve(run)
    const resolve = async () => (await run(callOf(args))).data
    return ctx.reads && !endpoint.writes ? ctx.reads.take(resolve) : resolve()
  }
}

/** What GraphQL hands in: it has read the arguments with the document. */
export const callOf = (args: Args): Call => ({
  key: typeof args.idempotencyKey === 'string' ? args.idempotencyKey : undefined,
  replay: args.idempotencyReplay === true,
  argument: (name) => new Map(Object.entries(args)).get(name),
  readArgs: () => args,
})
