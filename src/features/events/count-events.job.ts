import { z } from 'zod'
import { forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { foldEventCounts, projectsToCount } from './event-counts.ts'

/** Counts the events of all projects by name and day, every minute. */
export const countEvents: JobDefinition<Record<string, never>> = {
  name: 'events.count',
  payload: z.record(z.string(), z.never()),
  options: { policy: 'short', retryLimit: 0, expireInSeconds: 3_000 },
  cron: '* * * * *',
  async handle(ctx) {
    for (const id of await projectsToCount(ctx)) {
      // Those that come after a project with a problem are counted all the same.
      await foldEventCounts(forProject(ctx, id)).catch((error: unknown) => {
        ctx.log.error({ err: error, project: id }, 'the events of a project were not counted')
      })
    }
  },
}
