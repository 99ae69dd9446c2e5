import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import { readLarge } from '../../paging/large-list.ts'
import { lockSegment, segmentSizes } from './segments.sql.ts'

export const segmentNotFound = () => notFound('The segment', 'SEGMENT_NOT_FOUND')

/** All segments, the newest first. */
export async function listSegments(ctx: Ctx): Promise<Segment[]> {
  const projectId = projectIdOf(ctx)
  return readLarge(ctx, {
    records: await ctx.sql(segmentSizes, { projectId }),
    read: (ids) => ctx.db.segment.findMany({ where: { projectId, id: { in: ids } } }),
  })
}

export async function getSegment(ctx: Ctx, id: string): Promise<Segment> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The segment')
  const segment = await ctx.db.segment.findUnique({ where: { projectId_id: { projectId, id } } })
  if (!segment) throw segmentNotFound()
  return segment
}

/** The segment as it is, locked against changes until the transaction ends. */
export async function lockedSegment(tx: Ctx, id: string): Promise<Segment> {
  if (!isId(id)) throw notFound('The segment')
  const [locked] = await tx.sql(lockSegment, { projectId: projectIdOf(tx), id })
  if (!locked) throw segmentNotFound()
  // A statement of its own: it sees what was committed while that one waited.
  return getSegment(tx, id)
}
