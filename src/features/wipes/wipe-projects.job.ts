import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { advanceWipe, wipeWork } from './advance-wipe.ts'
import { wipedProjects } from './wipes.sql.ts'

export const wipeProjectsJob = defineProjectWork({
  kind: wipeWork,
  pending: async (ctx) =>
    (await ctx.sql(wipedProjects, {})).map(({ projectId }) => ({
      projectId,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => ((await advanceWipe(ctx, turn.hasTime)) ? 'more' : 'done'),
})
