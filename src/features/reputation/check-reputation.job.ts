import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { projectsToCheck } from './reputation.sql.ts'
import { checkReputation } from './reputation.ts'
import { reputationWork } from './reputation-work.ts'

const TOGETHER = 100

/** Looks at the rates of a project after a bounce or a complaint, and every day until they are healthy. */
export const checkReputationJob = defineProjectWork({
  kind: reputationWork,
  pending: async (ctx) => {
    const rows = await ctx.sql(projectsToCheck, { now: ctx.now(), limit: TOGETHER })
    return rows.map(({ projectId }) => ({ projectId, priority: PRIORITIES.maintenance }))
  },
  slice: async (ctx) => {
    await checkReputation(ctx)
    return 'done'
  },
})
