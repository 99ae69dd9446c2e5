import { forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { eraseTraces, eraseTracesOfProject } from './erase-contacts.ts'

export const eraseTracesJob: JobDefinition<{ projectId: string }> = {
  ...eraseTraces,
  handle: (ctx, { projectId }) => eraseTracesOfProject(forProject(ctx, projectId)),
}
