import { defineProjectWork, PRIORITIES, workKind } from '../../queue/define-work.ts'
import { countFields, projectsToCountFields } from './field-coverage.ts'

export const countFieldsJob = defineProjectWork({
  kind: workKind('contacts.count-fields'),
  pending: async (ctx) =>
    (await projectsToCountFields(ctx)).map((projectId) => ({ projectId, priority: PRIORITIES.maintenance })),
  slice: async (ctx) => {
    await countFields(ctx)
    return 'done'
  },
})
