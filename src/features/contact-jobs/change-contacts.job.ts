import { defineProjectWork } from '../../queue/define-work.ts'
import { runBulk } from './bulk.ts'
import { projectsWithJobs } from './contact-jobs.sql.ts'
import { contactJobWork } from './contact-jobs.ts'
import { runImport } from './import.ts'
import { workOnJobs } from './work-on-jobs.ts'

export const changeContactsJob = defineProjectWork({
  kind: contactJobWork,
  // A chunk that takes seconds must not delay all others.
  concurrency: 3,
  pending: async (ctx) => (await ctx.sql(projectsWithJobs, {})).map(({ projectId }) => projectId),
  slice: (ctx, turn) =>
    workOnJobs(ctx, turn.hasTime, (bound, job, hasTime) =>
      job.type === 'IMPORT' ? runImport(bound, job, hasTime) : runBulk(bound, job, hasTime),
    ),
})
