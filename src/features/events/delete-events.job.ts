import { forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { deleteEventsBefore, deleteEventsQueue } from './delete-events.ts'

export const deleteEventsJob: JobDefinition<{ projectId: string; name: string; before: string }> = {
  ...deleteEventsQueue,
  handle: (ctx, { projectId, name, before }) => deleteEventsBefore(forProject(ctx, projectId), name, before),
}
