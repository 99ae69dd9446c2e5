import type { Ctx } from '../ctx.ts'
import { type DeadJob, deadJobIds, jobCounts, latestDeadJobs } from './dead-jobs.sql.ts'
import { DEAD_LETTERS } from './define-job.ts'

/** Jobs moved per statement: short enough that no worker waits for the locks. */
const BATCH = 1_000

export type JobCounts = {
  pending: number
  active: number
  failed: number
  /** For how many seconds the oldest job has been due; null when none is. */
  oldestSeconds: number | null
}

/** Which state of the queue counts as what; a job that failed for the last time is counted by its dead letter. */
const COUNTED_AS: Record<string, 'pending' | 'active' | 'failed'> = {
  created: 'pending',
  retry: 'pending',
  active: 'active',
  dead: 'failed',
}

/** Jobs of each queue that wait (or wait to be tried again), run, or were given up. */
export async function countJobs(ctx: Ctx, queues: string[]): Promise<Map<string, JobCounts>> {
  const counts = new Map<string, JobCounts>()
  for (const queue of queues) counts.set(queue, { pending: 0, active: 0, failed: 0, oldestSeconds: null })
  const rows = await ctx.sql(jobCounts, { queues, deadLetters: DEAD_LETTERS })
  for (const { queue, state, count, oldestSeconds } of rows) {
    const kind = COUNTED_AS[state]
    const known = counts.get(queue)
    if (kind && known) known[kind] += count
    if (kind === 'pending' && known) known.oldestSeconds = Math.max(known.oldestSeconds ?? 0, oldestSeconds)
  }
  return counts
}

/** Jobs that were given up, latest first. No queue, no project: all. Payloads name their project `projectId`. */
export async function listDeadJobs(
  ctx: Ctx,
  input: { queue: string | null; projectId: string | null; limit: number },
): Promise<DeadJob[]> {
  return ctx.sql(latestDeadJobs, { ...input, deadLetters: DEAD_LETTERS })
}

export type RedrivenJobs = {
  redriven: number
  /** Jobs that stay dead letters, because the queue has a job already that they must not stand beside. */
  conflicting: number
  /** Those of the given ids that are no dead letters of the queue. */
  notFailed: string[]
}

/** Runs dead jobs of a queue once more, with all their attempts before them. No ids: all of them. */
export async function redriveJobs(
  ctx: Ctx,
  input: { queue: string; projectId: string | null; ids: string[] | null },
): Promise<RedrivenJobs> {
  const found = await ctx.sql(deadJobIds, { ...input, deadLetters: DEAD_LETTERS })
  const dead = new Set(found.map(({ id }) => id))
  const ids = [...dead]
  let redriven = 0
  for (let start = 0; start < ids.length; start += BATCH) {
    const options = { sourceName: input.queue, ids: ids.slice(start, start + BATCH), limit: BATCH }
    redriven += await ctx.services.boss.redrive(DEAD_LETTERS, options)
  }
  const notFailed = (input.ids ?? []).filter((id) => !dead.has(id))
  return { redriven, conflicting: ids.length - redriven, notFailed }
}
