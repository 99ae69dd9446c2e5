import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { earliestId, LAST_ID } from '../../lib/ids.ts'
import { contactAt, countStored, lockSegment } from './membership.sql.ts'
import { audienceOf, evaluate } from './membership.ts'
import { getSegment, lockedSegment } from './segments.ts'

/** Contacts of one commit. */
const BATCH = 10_000

export type ComputeResult = { added: number; removed: number; total: number }

/**
 * Looks at all contacts, brings the members in line with the condition, and records entries and exits. Batches
 * are commits of their own: what stops in the middle is finished by the next call, and calls at the same time
 * share the work without recording anything twice. Throws BAD_REQUEST for a segment that is not tracked.
 */
export async function computeSegment(ctx: Ctx, id: string): Promise<ComputeResult> {
  const segment = await getSegment(ctx, id)
  if (segment.type !== 'DYNAMIC' || !segment.trackMembership) {
    throw badRequest('Only a DYNAMIC segment that tracks its members can be computed.')
  }
  const projectId = projectIdOf(ctx)
  const began = ctx.now()
  const asked = await questionOf(ctx, segment)
  let [added, removed] = [0, 0]
  for (let after = earliestId(new Date(0)); after !== LAST_ID; ) {
    const [next] = await ctx.sql(contactAt, [projectId, after, BATCH - 1])
    const last = next?.id ?? LAST_ID
    const { entered, departed } = await computeBatch(ctx, segment.id, [after, last])
    added += entered
    removed += departed
    after = last
  }
  return { added, removed, total: await finish(ctx, segment, asked, began) }
}

async function computeBatch(ctx: Ctx, id: string, range: [after: string, last: string]) {
  return ctx.atomically(async (tx) => {
    // It may have been changed since the batch before.
    const segment = await lockedSegment(tx, id)
    if (!segment.trackMembership) return { entered: 0, departed: 0 }
    return evaluate(tx, segment, 'between', range)
  })
}

/** All that membership depends on beside the contacts: the condition, and those of the segments that it names. */
async function questionOf(ctx: Ctx, segment: Segment): Promise<string> {
  const { tree, segments } = await audienceOf(ctx, segment)
  return JSON.stringify([tree, ...segments])
}

/** Counts the members, and notes how long all took unless something else is asked for by now. */
async function finish(ctx: Ctx, segment: Segment, asked: string, began: Date): Promise<number> {
  const { projectId, id, updatedAt, computedAt } = segment
  return ctx.atomically(async (tx) => {
    await tx.sql(lockSegment, [projectId, id])
    const now = tx.now()
    const [stored] = await tx.sql(countStored, [projectId, id, now])
    const current = await tx.db.segment.findUnique({ where: { projectId_id: { projectId, id } } })
    const isSame =
      current?.updatedAt.getTime() === updatedAt.getTime() &&
      current.computedAt?.getTime() === computedAt?.getTime()
    if (isSame && current.trackMembership && (await questionOf(tx, current)) === asked) {
      const computeMs = now.getTime() - began.getTime()
      await tx.db.segment.updateMany({ where: { projectId, id }, data: { computedAt: began, computeMs } })
    }
    return stored?.count ?? 0
  })
}
