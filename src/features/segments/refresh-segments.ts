import { type Audience, filtersOf } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { audienceCondition } from '../contacts/contact-filter.ts'
import { countExactly } from '../contacts/contact-list.ts'
import { countStored, lockSegment } from './membership.sql.ts'
import { audienceOf, segmentNotFound } from './membership.ts'

/**
 * Counts the members of a segment as they are now and keeps the number. No events, no memberships. Where members
 * are stored, their number is kept and moves with them; a tracked segment may have some that are not stored yet.
 */
export async function countMembers(ctx: Ctx, segment: Segment): Promise<Segment> {
  const isStatic = segment.type === 'STATIC'
  const stored = isStatic || segment.computedAt !== null ? await keepStored(ctx, segment) : null
  if (isStatic) return { ...segment, memberCount: stored ?? 0 }
  const { projectId, id } = segment
  const began = ctx.now()
  const memberCount = await countExactly(ctx, [audienceCondition(ctx, await audienceOf(ctx, segment))])
  if (stored !== null) return { ...segment, memberCount }
  const took = segment.trackMembership ? {} : { computeMs: ctx.now().getTime() - began.getTime() }
  await ctx.db.segment.updateMany({
    where: { projectId, id, computedAt: null },
    data: { memberCount, countedAt: began, ...took },
  })
  return { ...segment, memberCount }
}

/** Keeps the number of stored members and returns it; null when they are not stored. */
export async function keepStored(ctx: Ctx, { id }: Segment): Promise<number | null> {
  return ctx.atomically(async (tx) => {
    const [locked] = await tx.sql(lockSegment, [projectIdOf(tx), id])
    if (!locked) throw segmentNotFound()
    const [stored] = await tx.sql(countStored, [projectIdOf(tx), id, tx.now()])
    return stored?.count ?? null
  })
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** A segment takes at most a twentieth of the time. */
const SHARE = 20
/** A new or changed condition is left to whoever made it for so long: he may compute it himself. */
const SETTLE_MS = 30 * SECOND
const COUNT_EVERY_MS = 5 * MINUTE
/** Tracked segments that do not depend on time follow the changes of contacts; this is for what may be missed. */
const RECOMPUTE_EVERY_MS = 60 * MINUTE

const dependsOnTime = ({ tree, segments }: Audience): boolean => {
  const conditions = [...segments.values()].flatMap((source) =>
    source.members === 'computed' ? [source.condition] : [],
  )
  return [tree, ...conditions].some((one) =>
    [...filtersOf(one)].some(({ filter }) => filter.source.unit !== undefined),
  )
}

export type Due = 'compute' | 'count' | null

/** What is to be done for a segment now: windows have passed, or its number has become old. */
export async function dueFor(ctx: Ctx, segment: Segment): Promise<Due> {
  const now = ctx.now().getTime()
  const since = (time: Date | null) => (time === null ? Number.POSITIVE_INFINITY : now - time.getTime())
  const pause = (segment.computeMs ?? 0) * SHARE
  if (segment.type === 'STATIC' || !segment.trackMembership) {
    return since(segment.countedAt) >= Math.max(COUNT_EVERY_MS, pause) ? 'count' : null
  }
  if (segment.computedAt === null) return since(segment.updatedAt) >= SETTLE_MS ? 'compute' : null
  const every = dependsOnTime(await audienceOf(ctx, segment)) ? MINUTE - SETTLE_MS : RECOMPUTE_EVERY_MS
  if (since(segment.computedAt) >= Math.max(every, pause)) return 'compute'
  // The number moves with the members, but not when a member is deleted.
  return since(segment.countedAt) >= COUNT_EVERY_MS ? 'count' : null
}
