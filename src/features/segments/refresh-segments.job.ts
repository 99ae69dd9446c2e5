import { z } from 'zod'
import { type Ctx, forProject } from '../../ctx.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import { computeSegment } from './compute.ts'
import { countMembers, dueFor, keepStored } from './refresh-segments.ts'
import { listSegments } from './segments.ts'

/** Every minute: segments whose windows have passed are computed, numbers of members that are old counted. */
export const refreshSegments: JobDefinition<Record<string, never>> = {
  name: 'segments.refresh',
  payload: z.record(z.string(), z.never()),
  options: { policy: 'short', retryLimit: 0, heartbeatSeconds: 10, expireInSeconds: 3_000 },
  cron: '* * * * *',
  async handle(ctx) {
    const projects = await ctx.db.segment.findMany({ distinct: ['projectId'], select: { projectId: true } })
    for (const { projectId } of projects) await refreshProject(forProject(ctx, projectId))
  },
}

async function refreshProject(ctx: Ctx): Promise<void> {
  for (const segment of await listSegments(ctx)) {
    try {
      const due = await dueFor(ctx, segment)
      if (due === 'compute') await computeSegment(ctx, segment.id)
      const isStored = segment.type === 'STATIC' || segment.trackMembership
      if (due === 'count') await (isStored ? keepStored : countMembers)(ctx, segment)
    } catch (error) {
      // One that takes too long must not keep the others; it is tried again in a minute.
      ctx.log.warn({ err: error, segmentId: segment.id }, 'a segment was not refreshed')
    }
  }
}
