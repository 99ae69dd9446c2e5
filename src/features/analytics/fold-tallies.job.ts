import { projectIdOf } from '../../ctx.ts'
import { defineProjectWork } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { foldTallies, projectsWithTallies } from './mail-counts.sql.ts'

/** Tallies of one commit. */
const BATCH = 2_000

/**
 * Adds what was counted of mail to the kept counts. Nobody asks for it: every few seconds the sweep finds what is to be
 * added, and who reads adds it up meanwhile.
 */
export const foldTalliesJob = defineProjectWork({
  kind: workKind('analytics.fold'),
  pending: async (ctx) =>
    (await ctx.sql(projectsWithTallies, {})).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => {
    do {
      const [folded] = await ctx.sql(foldTallies, { projectId: projectIdOf(ctx), limit: BATCH })
      if ((folded?.count ?? 0) < BATCH) return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
