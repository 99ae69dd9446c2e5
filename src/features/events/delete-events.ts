import { z } from 'zod'
import { audienceUsage, isUsed } from '../../audience/usage.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, fieldError } from '../../errors.ts'
import { earliestId, timeOfId } from '../../lib/ids.ts'
import type { JobQueue } from '../../queue/define-job.ts'
import { deleteEvents, dropEmptyCounts, newestEvent } from './event-counts.sql.ts'
import { countEventsOf, lockCounts } from './event-counts.ts'
import { isReservedEvent } from './events.rules.ts'

/** Deletes what the request that asked for it has left. */
export const deleteEventsQueue: JobQueue<{ projectId: string; name: string; before: string }> = {
  name: 'events.delete',
  payload: z.object({ projectId: z.uuid(), name: z.string(), before: z.uuid() }),
  options: { retryLimit: 20, retryDelay: 1, retryBackoff: true, retryDelayMax: 60, heartbeatSeconds: 10 },
}

/** Events per commit: short enough that nobody waits for the locks. */
const BATCH = 5_000

/**
 * Deletes every event of a name that has happened so far: a few at once, more in a job of the same commit.
 * Returns how many. Throws CONFLICT while something refers to the name, VALIDATION_ERROR for the service's own.
 */
export async function deleteEventsOf(ctx: Ctx, name: string): Promise<number> {
  if (isReservedEvent(name)) {
    throw fieldError('eventName', 'reserved_event', 'is reserved: the service writes this event itself')
  }
  const usage = await audienceUsage(ctx, ({ events }) => events.includes(name))
  if (isUsed(usage)) throw conflict('The event is used; GET /events/:eventName/usage says where.')
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    await lockCounts(tx)
    const [newest] = await tx.sql(newestEvent, [projectId, name])
    if (!newest) return 0
    const total = await countEventsOf(tx, name)
    // Up to the newest one, and not up to now: another process's clock may be ahead.
    const before = earliestId(new Date(timeOfId(newest.id).getTime() + 1))
    const next = await deleteBatch(tx, name, before, EARLIEST)
    if (next) await tx.enqueue(deleteEventsQueue, { projectId, name, before })
    return total
  })
}

const EARLIEST = new Date(0)

/** Deletes the events of a name with ids below `before`, a commit per batch. */
export async function deleteEventsBefore(ctx: Ctx, name: string, before: string): Promise<void> {
  for (let next: Date | null = EARLIEST; next; ) {
    const from: Date = next
    next = await ctx.atomically(async (tx) => {
      await lockCounts(tx)
      return deleteBatch(tx, name, before, from)
    })
  }
}

/** Deletes the oldest events, from a time on; returns the time from which on there may be more. */
async function deleteBatch(tx: Ctx, name: string, before: string, from: Date): Promise<Date | null> {
  const projectId = projectIdOf(tx)
  const [batch] = await tx.sql(deleteEvents, [projectId, name, before, from, BATCH])
  await tx.sql(dropEmptyCounts, [projectId, name])
  return batch?.found === BATCH ? batch.last : null
}
