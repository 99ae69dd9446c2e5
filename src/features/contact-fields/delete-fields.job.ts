import { defineProjectWork } from '../../queue/define-work.ts'
import { projectsWithFieldDeletions } from './field-deletions.sql.ts'
import { deleteFields, fieldDeletionWork } from './field-deletions.ts'

export const deleteFieldsJob = defineProjectWork({
  kind: fieldDeletionWork,
  pending: async (ctx) => (await ctx.sql(projectsWithFieldDeletions, {})).map(({ projectId }) => projectId),
  slice: (ctx, turn) => deleteFields(ctx, turn.hasTime),
})
