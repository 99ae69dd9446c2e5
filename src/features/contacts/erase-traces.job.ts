import { defineProjectWork } from '../../queue/define-work.ts'
import { projectsWithErasures } from './erase-contacts.sql.ts'
import { erasureWork } from './erase-contacts.ts'
import { eraseTraces } from './erase-traces.ts'

export const eraseTracesJob = defineProjectWork({
  kind: erasureWork,
  pending: async (ctx) => (await ctx.sql(projectsWithErasures, {})).map(({ projectId }) => projectId),
  slice: (ctx, turn) => eraseTraces(ctx, turn.hasTime),
})
