import type { Ctx } from '../ctx.ts'
import { jsonSize } from '../lib/json.ts'

/** Up to here what is read is not counted, in bytes: most answers are small. */
const UNCOUNTED = 64 * 1024

/**
 * Reads a part of the answer and takes room for what it turns out to be, as far as `read` has not taken it itself. Throws
 * SERVICE_UNAVAILABLE when the project has too much on its way.
 */
export async function withRoomFor<Result>(ctx: Ctx, read: () => Promise<Result>): Promise<Result> {
  const before = ctx.answerBytes.taken
  const result = await read()
  const more = jsonSize(result) - (ctx.answerBytes.taken - before)
  if (more > UNCOUNTED) await ctx.answerBytes.takeAnswer(more)
  return result
}
