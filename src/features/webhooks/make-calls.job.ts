import { defineProjectWork } from '../../queue/define-work.ts'
import { makeCalls } from './make-calls.ts'
import { projectsWithDueCalls, releaseAbandonedCalls } from './messages.sql.ts'
import { callWork } from './webhook-work.ts'

/** Slices at a time in one process: a slow receiver holds up one. */
const CONCURRENCY = 8

/** Makes the calls of webhooks that are due. */
export const makeCallsJob = defineProjectWork({
  kind: callWork,
  concurrency: CONCURRENCY,
  pending: async (ctx) => {
    const clockShift = ctx.services.clockShift()
    const released = await ctx.sql(releaseAbandonedCalls, { clockShift, queue: callWork.name })
    if (released.length > 0) {
      ctx.log.warn({ calls: released.map(({ id }) => id) }, 'webhook calls taken over from a dead worker')
    }
    return (await ctx.sql(projectsWithDueCalls, { clockShift })).map(({ projectId }) => projectId)
  },
  slice: makeCalls,
})
