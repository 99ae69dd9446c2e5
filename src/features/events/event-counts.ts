import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { eventTotal, firstOpen, foldEvents, idAfter, lockFold, projectsToFold } from './event-counts.sql.ts'

/**
 * Events younger than this are not yet counted: a statement that has made an id a while ago may not have been
 * committed, and its event would be passed over. No statement takes longer.
 */
const OPEN_MS = 45_000
/** Events of one commit. */
const BATCH = 50_000

const countableEnd = (ctx: Ctx): string => earliestId(new Date(ctx.now().getTime() - OPEN_MS))

/** The projects that `foldEventCounts` has something to do for. */
export async function projectsToCount(ctx: Ctx): Promise<string[]> {
  return (await ctx.sql(projectsToFold, [countableEnd(ctx)])).map(({ id }) => id)
}

/** Counts what has been recorded since the last time, a commit per batch. */
export async function foldEventCounts(ctx: Ctx): Promise<void> {
  const end = countableEnd(ctx)
  for (let more = true; more; ) more = await ctx.atomically((tx) => foldBatch(tx, end))
}

/** True when there may be more. */
async function foldBatch(tx: Ctx, end: string): Promise<boolean> {
  const projectId = projectIdOf(tx)
  const from = (await lockCounts(tx)) ?? end
  const [first] = await tx.sql(idAfter, [projectId, from, end, 0])
  if (!first) return false
  const [beyond] = await tx.sql(idAfter, [projectId, from, end, BATCH])
  await tx.sql(foldEvents, [projectId, from, beyond?.id ?? end])
  return beyond !== undefined
}

/** How far the counts of the project go: what statements that join them with the other events want to know. */
export async function firstOpenEvent(ctx: Ctx): Promise<string> {
  const [open] = await ctx.sql(firstOpen, [projectIdOf(ctx)])
  return open?.id ?? earliestId(new Date(0))
}

/** How many events the project has, of a name if it is given. */
export async function countEventsOf(ctx: Ctx, name: string | null): Promise<number> {
  const [total] = await ctx.sql(eventTotal, [projectIdOf(ctx), await firstOpenEvent(ctx), name])
  return total?.count ?? 0
}

/** Keeps others from changing the counts of the project until the commit. Returns the first id not in them. */
export async function lockCounts(tx: Ctx): Promise<string | undefined> {
  const [fold] = await tx.sql(lockFold, [projectIdOf(tx)])
  return fold?.firstOpen
}
