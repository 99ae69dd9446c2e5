import type { Ctx } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { soon } from '../../lib/async/soon.ts'
import { askForPass } from '../memberships/compute.ts'
import { getSegment, segmentNotFound } from './find-segment.ts'

export type ComputeResult = {
  added: number | null
  removed: number | null
  total: number | null
  /** 'running' when it goes on in the background. */
  status: 'running' | 'completed'
}

/**
 * Has all contacts looked at, the members brought in line with the condition, and entries and exits recorded, in the
 * background; requests at the same time share a pass. What takes long goes on without the request. Throws BAD_REQUEST
 * for a segment that is not tracked.
 */
export async function computeSegment(ctx: Ctx, id: string): Promise<ComputeResult> {
  const segment = await getSegment(ctx, id)
  if (segment.type !== 'DYNAMIC' || !segment.trackMembership) {
    throw badRequest('Only a DYNAMIC segment that tracks its members can be computed.')
  }
  const asked = await ctx.atomically(async (tx) => {
    const number = await askForPass(tx, segment.id)
    if (number === null) throw segmentNotFound()
    return number
  })
  const ended = await soon(async () => {
    const found = await getSegment(ctx, segment.id)
    return found.passEnded >= asked ? found : null
  })
  if (ended === null) return { added: null, removed: null, total: null, status: 'running' }
  return {
    added: ended.endedAdded,
    removed: ended.endedRemoved,
    total: ended.memberCount,
    status: 'completed',
  }
}
