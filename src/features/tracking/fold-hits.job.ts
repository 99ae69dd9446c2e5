import { defineProjectWork } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { foldHits } from './fold-hits.ts'
import { projectsWithHits } from './hits.sql.ts'

/** Until the slice that is at it has ended. */
const BUSY_MS = 500

/** Counts opens and clicks of messages. Nobody asks for it: every few seconds the sweep finds what is to be counted. */
export const foldHitsJob = defineProjectWork({
  kind: workKind('tracking.fold'),
  pending: async (ctx) =>
    (await ctx.sql(projectsWithHits, {})).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => {
    do {
      const folded = await foldHits(ctx)
      if (folded === 'busy') return { afterMs: BUSY_MS }
      if (folded === 'done') return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
