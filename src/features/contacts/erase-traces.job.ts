import { defineProjectWork } from '../../queue/define-work.ts'
import { projectsWithErasures } from './erase-contacts.sql.ts'
import { erasureWork } from './erase-contacts.ts'
import { eraseTraces } from './erase-traces.ts'

export const eraseTracesJob = defineProjectWork({
  kind: erasureWork,
  pending: async (ctx) => {
    const found = await ctx.sql(projectsWithErasures, { clockShift: ctx.services.clockShift() })
    return found.map(({ projectId }) => projectId)
  },
  slice: (ctx, turn) => eraseTraces(ctx, turn.hasTime),
})
