import { projectIdOf } from '../../../ctx.ts'
import { defineProjectWork } from '../../../queue/define-work.ts'
import { workKind } from '../../../queue/job-queue.ts'
import { PRIORITIES } from '../../../queue/priorities.ts'
import { foldTallies, projectsWithTallies } from './counts.sql.ts'

/** Tallies of one commit. */
const BATCH = 2_000

/** Adds the tallies of executions to the counts. Nobody asks for it: the sweep finds them, and who reads adds them up meanwhile. */
export const foldCountsJob = defineProjectWork({
  kind: workKind('workflows.fold'),
  pending: async (ctx) =>
    (await ctx.sql(projectsWithTallies, {})).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => {
    do {
      const [row] = await ctx.sql(foldTallies, { projectId: projectIdOf(ctx), limit: BATCH })
      if ((row?.folded ?? 0) < BATCH) return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
