import { webhookRoutingWork } from '../../changes/followers.ts'
import { projectIdOf } from '../../ctx.ts'
import { defineProjectWork } from '../../queue/define-work.ts'
import { projectsWithHeardEvents, routeEvents } from './messages.sql.ts'
import { callWork } from './webhook-work.ts'

/** Changes of one commit. */
const BATCH = 500

/** Writes the calls for events that endpoints ask for. */
export const routeEventsJob = defineProjectWork({
  kind: webhookRoutingWork,
  concurrency: 2,
  pending: async (ctx) => (await ctx.sql(projectsWithHeardEvents, {})).map(({ projectId }) => projectId),
  slice: async (ctx, turn) => {
    const clockShift = ctx.services.clockShift()
    do {
      const params = { projectId: projectIdOf(ctx), limit: BATCH, now: ctx.now(), clockShift }
      const [routed] = await ctx.sql(routeEvents, params)
      if (routed && routed.written > 0) ctx.requestWork(callWork)
      if (!routed || routed.read < BATCH) return 'done'
    } while (turn.hasTime())
    return 'more'
  },
})
