import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { applyReports } from './apply-reports.ts'
import { projectsWithReports } from './notifications.sql.ts'
import { reportWork } from './notifications.ts'

/** Until the slice that is at it has ended. */
const BUSY_MS = 500

/** Applies what providers report of mail. Those who note a report ask for it. */
export const applyReportsJob = defineProjectWork({
  kind: reportWork,
  pending: async (ctx) =>
    (await ctx.sql(projectsWithReports, { clockShift: ctx.services.clockShift() })).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => {
    do {
      const applied = await applyReports(ctx)
      if (applied === 'busy') return { afterMs: BUSY_MS }
      if (applied === 'done') return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
