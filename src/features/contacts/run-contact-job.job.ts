import { forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { runBulk } from './bulk.ts'
import { contactJobQueue, runJob } from './contact-jobs.ts'
import { runImport } from './import.ts'

export const runContactJob: JobDefinition<{ projectId: string; jobId: string }> = {
  ...contactJobQueue,
  // A long one must not keep all others.
  concurrency: 3,
  handle: (ctx, { projectId, jobId }) =>
    runJob(forProject(ctx, projectId), jobId, (bound, job) =>
      job.type === 'IMPORT' ? runImport(bound, job) : runBulk(bound, job),
    ),
}
