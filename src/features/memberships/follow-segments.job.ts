import { segmentFollowingWork } from '../../changes/followers.ts'
import { defineProjectWork } from '../../queue/define-work.ts'
import { changedProjects } from './follow-changes.sql.ts'
import { followBatch, type Known, leaveToPasses } from './follow-changes.ts'

/** Changes of one commit. */
const BATCH = 2_000
const SMALLEST_BATCH = 1
/** Waiting time for another slice that follows the same project. */
const BUSY_MS = 100

/** Has the tracked segments of projects follow changes of contacts. */
export const followSegmentsJob = defineProjectWork({
  kind: segmentFollowingWork,
  concurrency: 2,
  pending: async (ctx) => (await ctx.sql(changedProjects, {})).map(({ projectId }) => projectId),
  slice: async (ctx, turn) => {
    const known: Known = new Map()
    for (let size = BATCH; ; ) {
      const followed = await followBatch(ctx, size, known)
      if (followed === 'busy') return { afterMs: BUSY_MS }
      if (followed === 'done') return 'done'
      if (followed === 'more') size = Math.min(BATCH, size * 2)
      else if (size > SMALLEST_BATCH) size = Math.ceil(size / 8)
      else await leaveToPasses(ctx)
      if (!turn.hasTime()) return 'more'
    }
  },
})
