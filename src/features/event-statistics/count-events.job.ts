import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { projectsToCount } from './event-counts.sql.ts'
import { countEvents, eventCountingWork } from './event-counts.ts'

/** Projects of one sweep: the others follow in the next ones. */
const PROJECTS = 1_000

export const countEventsJob = defineProjectWork({
  kind: eventCountingWork,
  pending: async (ctx) =>
    (await ctx.sql(projectsToCount, { now: ctx.now(), limit: PROJECTS })).map(({ id }) => ({
      projectId: id,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => ((await countEvents(ctx, turn)) ? 'more' : 'done'),
})
