import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../ctx.ts'
import { assertStillThere } from './permission.ts'

const LOOK_EVERY_MS = 300

/** What is watched: how it is read, what of it counts as a change, and when there is nothing more to come. */
export type Watched<Value> = {
  read: () => Promise<Value>
  stateOf: (value: Value) => unknown[]
  isOver: (value: Value) => boolean
}

/**
 * Something as it is now, then at every change, until it is over. Throws what `read` throws, and ends with an
 * error when the key that asks is rotated, or the session or the membership ends. Works across processes, because it looks at what is stored.
 */
export async function watch<Value>(ctx: Ctx, watched: Watched<Value>): Promise<AsyncIterableIterator<Value>> {
  // What is wrong with the request is the answer to it, not the first event.
  const first = await watched.read()
  const leaving = new AbortController()
  const changes = changesOf(ctx, first, watched, leaving.signal)
  const watching: AsyncIterableIterator<Value> = {
    next: () => changes.next(),
    // A generator would hear of it at its next value only, which may be far.
    return: () => {
      leaving.abort()
      return changes.return(undefined)
    },
    [Symbol.asyncIterator]: () => watching,
  }
  return watching
}

async function* changesOf<Value>(
  ctx: Ctx,
  first: Value,
  { read, stateOf, isOver }: Watched<Value>,
  signal: AbortSignal,
): AsyncGenerator<Value> {
  let value = first
  for (let told = ''; ; ) {
    const state = JSON.stringify(stateOf(value))
    if (state !== told) yield value
    told = state
    if (isOver(value)) return
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // A disabled project may still look.
    await assertStillThere(ctx)
    value = await read()
  }
}
