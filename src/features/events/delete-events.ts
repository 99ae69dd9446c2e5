import { forgetName } from '../../admission/recorded-names.ts'
import { lockEventCounts } from '../../changes/event-counts.ts'
import { isReservedEvent } from '../../changes/event-names.rules.ts'
import { isUsed, lockInterests, usageOf } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut } from '../../db/sql.ts'
import { conflict, fieldError } from '../../errors.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { countEventsOf } from '../event-statistics/event-counts.ts'
import { beginDeletion, countBefore, deleteBatch, timeOfEvent } from './delete-events.sql.ts'

/** Deleting what a request has left. */
export const eventDeletionWork = workKind('events.delete')

/** Events per commit. */
const BATCH = 5_000
/** How long a request goes on itself. */
const REQUEST_MS = 5_000
/** Events that are counted one by one, in about a second; of more, the kept counts say how many. */
const COUNTED = 5_000_000
/**
 * Events that are younger than this are deleted at once. Events recorded later stay, also from a process
 * whose clock is behind, because after the commit only older ones are deleted.
 */
const YOUNG_MS = 300_000
/**
 * Most young events to delete at once, which takes some tenths of a second. When a name has more, only its
 * newest so many are young: the clocks must agree better then.
 */
const MAX_YOUNG = 20_000

/**
 * Deletes every existing event of a name: as many as some seconds allow at once, the rest in the background.
 * Returns how many. Throws CONFLICT while something refers to the name, VALIDATION_ERROR for the service's
 * own.
 */
export async function deleteEventsOf(ctx: Ctx, name: string): Promise<number> {
  if (isReservedEvent(name)) {
    throw fieldError('eventName', 'reserved_event', 'is reserved: the service writes this event itself')
  }
  const deadline = performance.now() + REQUEST_MS
  const kept = await countEventsOf(ctx, name)
  const before = await youngSince(ctx, name)
  const old = await countOld(ctx, name, before)
  const young = await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    if (isUsed(await usageOf(tx, 'EVENT', name))) {
      throw conflict('The event is used; GET /events/:eventName/usage says where.')
    }
    await lockEventCounts(tx)
    const [begun] = await tx.sql(beginDeletion, { projectId: projectIdOf(tx), name, before })
    return begun?.count ?? 0
  })
  forgetName(ctx, 'eventNames', name)
  const isLeft = await deleteSome(ctx, name, () => performance.now() < deadline).catch(unlessUnavailable)
  if (isLeft) ctx.requestWork(eventDeletionWork, PRIORITIES.maintenance)
  return old === null ? Math.max(young, kept) : old + young
}

/** Since when events are young, in any case a time that is over. */
async function youngSince(ctx: Ctx, name: string): Promise<Date> {
  const now = ctx.now().getTime()
  const earliest = new Date(now - YOUNG_MS)
  const [last] = await ctx.sql(timeOfEvent, { projectId: projectIdOf(ctx), name, earliest, newer: MAX_YOUNG })
  return last ? new Date(Math.min(last.at.getTime() + 1, now)) : earliest
}

/** Null when they are too many to be counted one by one. */
async function countOld(ctx: Ctx, name: string, before: Date): Promise<number | null> {
  const params = { projectId: projectIdOf(ctx), name, before, most: COUNTED }
  const rows = await ctx.sql(countBefore, params).catch((error: unknown) => {
    if (!isTimeOut(error)) throw error
    return []
  })
  const count = rows[0]?.count
  return count === undefined || count > COUNTED ? null : count
}

/** The deletion has begun: the background does the rest. */
function unlessUnavailable(error: unknown): true {
  if (isDatabaseUnavailable(error)) return true
  throw error
}

/**
 * Deletes events that are marked for deletion, of a name if it is given, a commit per batch. Returns true
 * when some may be left.
 */
export async function deleteSome(ctx: Ctx, name: string | null, hasTime: () => boolean): Promise<boolean> {
  const params = { projectId: projectIdOf(ctx), name, limit: BATCH }
  while (hasTime()) if ((await ctx.sql(deleteBatch, params)).length === 0) return false
  return true
}
