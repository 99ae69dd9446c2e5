import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { askForPass } from '../memberships/compute.ts'
import { getSegment, segmentNotFound } from './find-segment.ts'

/** How long a request waits for background work, and how often it looks. */
const WAIT_MS = 5_000
const LOOK_EVERY_MS = 50

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
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; ) {
    const { passEnded, endedAdded, endedRemoved, memberCount } = await getSegment(ctx, segment.id)
    if (passEnded >= asked) {
      return { added: endedAdded, removed: endedRemoved, total: memberCount, status: 'completed' }
    }
    await pause(LOOK_EVERY_MS)
  }
  return { added: null, removed: null, total: null, status: 'running' }
}
