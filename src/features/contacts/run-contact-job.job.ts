import { forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { runBulk } from './bulk.ts'
import { contactJobQueue, runJob } from './contact-jobs.ts'
import { runImport } from './import.ts'

export const runContactJob: JobDefinition<{ projectId: string; jobId: string }> = {
  ...contactJobQueue,
  handle: (ctx, { projectId, jobId }) =>
    runJob(forProject(ctx, projectId), jobId, (bound, job) =>
      job.type === 'IMPORT' ? runImport(bound, job) : runBulk(bound, job),
    ),
}
