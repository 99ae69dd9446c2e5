import { defineProjectWork } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { countUsage } from './count-usage.ts'
import { talliedProjects } from './usage.sql.ts'

/** Projects of one sweep: the others follow in the next ones. */
const PROJECTS = 1_000

/** Counts messages for billing. Nobody asks for it: every few seconds the sweep finds what is to be counted. */
export const countUsageJob = defineProjectWork({
  kind: workKind('billing.count-usage'),
  pending: async (ctx) =>
    (await ctx.sql(talliedProjects, { limit: PROJECTS })).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => {
    do {
      if (!(await countUsage(ctx))) return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
