import type { Ctx } from '../../ctx.ts'
import { isDatabaseUnavailable } from '../../db/sql.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { audienceCondition } from '../contacts/contact-filter.ts'
import { countExactly } from '../contacts/contact-list.ts'
import { askForPass } from '../memberships/compute.ts'
import { audienceOf, keepStored } from '../memberships/membership.ts'
import { getSegment } from './find-segment.ts'
import { noteCount } from './segments.sql.ts'

export type RefreshResult = { memberCount: number | null; status: 'running' | 'completed' }

/** Counts the members of a segment, for a request. */
export async function refreshSegment(ctx: Ctx, id: string): Promise<RefreshResult> {
  const memberCount = await countMembers(ctx, await getSegment(ctx, id))
  return { memberCount, status: memberCount === null ? 'running' : 'completed' }
}

/**
 * Counts the members of a segment as they are now, and keeps the number where members are not stored. No events, no
 * memberships. Null when that takes too long: then they are counted in the background.
 */
export async function countMembers(ctx: Ctx, segment: Segment): Promise<number | null> {
  const { projectId, id, type, trackMembership, revision } = segment
  if (type === 'STATIC') return keepStored(ctx, id)
  try {
    const count = await countExactly(ctx, [audienceCondition(ctx, await audienceOf(ctx, segment))])
    if (trackMembership) return count
    await ctx.sql(noteCount, { projectId, id, revision, count, clockShift: ctx.services.clockShift() })
    return count
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    ctx.log.warn(
      { err: error, requestId: ctx.requestId, segmentId: id },
      'a segment is counted in the background',
    )
    await ctx.atomically((tx) => askForPass(tx, id))
    return null
  }
}
