import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../ctx.ts'
import { invalidApiKey } from '../errors.ts'

const LOOK_EVERY_MS = 300

/** What is followed: how it is read, what of it counts as a change, and when there is nothing more to come. */
export type Followed<Value> = {
  read: () => Promise<Value>
  stateOf: (value: Value) => unknown[]
  isOver: (value: Value) => boolean
}

/**
 * Something as it is now, then at every change, until it is over. Throws what `read` throws, and ends with an
 * error when the key that asks is rotated. Works across processes, because it looks at what is stored.
 */
export async function follow<Value>(
  ctx: Ctx,
  followed: Followed<Value>,
): Promise<AsyncIterableIterator<Value>> {
  // What is wrong with the request is the answer to it, not the first event.
  const first = await followed.read()
  const leaving = new AbortController()
  const changes = changesOf(ctx, first, followed, leaving.signal)
  const following: AsyncIterableIterator<Value> = {
    next: () => changes.next(),
    // A generator would hear of it at its next value only, which may be far.
    return: () => {
      leaving.abort()
      return changes.return(undefined)
    },
    [Symbol.asyncIterator]: () => following,
  }
  return following
}

async function* changesOf<Value>(
  ctx: Ctx,
  first: Value,
  { read, stateOf, isOver }: Followed<Value>,
  signal: AbortSignal,
): AsyncGenerator<Value> {
  for (let value = first, told = ''; ; value = await read()) {
    const state = JSON.stringify(stateOf(value))
    if (state !== told) yield value
    told = state
    if (isOver(value)) return
    await pause(LOOK_EVERY_MS)
    if (signal.aborted) return
    await assertKeyHolds(ctx)
  }
}

/** A disabled project may still look. */
async function assertKeyHolds({ actor, services }: Ctx): Promise<void> {
  if (actor.kind !== 'key') return
  if (!(await services.keyRing.lookUp(actor.keyKind, actor.keyHash))) throw invalidApiKey()
}
