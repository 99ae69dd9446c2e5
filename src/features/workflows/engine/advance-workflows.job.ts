import { workflowAdvancingWork } from '../../../changes/followers.ts'
import { defineProjectWork } from '../../../queue/define-work.ts'
import { PRIORITIES } from '../../../queue/priorities.ts'
import { projectsWithWorkflowWork } from './advance.sql.ts'
import { advanceWorkflows } from './advance-workflows.ts'

/** Projects that one sweep finds. */
const MAX_FOUND = 1_000

/** Has the workflows of projects hear of events, and their executions go on. */
export const advanceWorkflowsJob = defineProjectWork({
  kind: workflowAdvancingWork,
  concurrency: 2,
  pending: async (ctx) => {
    const clockShift = ctx.services.clockShift()
    const found = await ctx.sql(projectsWithWorkflowWork, { clockShift, limit: MAX_FOUND })
    return found.map(({ projectId }) => ({ projectId, priority: PRIORITIES.workflow }))
  },
  slice: advanceWorkflows,
})
