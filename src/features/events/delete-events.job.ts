import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { projectsWithEventDeletions } from './delete-events.sql.ts'
import { deleteSome, eventDeletionWork } from './delete-events.ts'

export const deleteEventsJob = defineProjectWork({
  kind: eventDeletionWork,
  pending: async (ctx) =>
    (await ctx.sql(projectsWithEventDeletions, {})).map(({ id }) => ({
      projectId: id,
      priority: PRIORITIES.maintenance,
    })),
  slice: async (ctx, turn) => ((await deleteSome(ctx, null, turn.hasTime)) ? 'more' : 'done'),
})
