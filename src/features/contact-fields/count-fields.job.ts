import { defineProjectWork } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
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
