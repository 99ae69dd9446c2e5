import { z } from 'zod'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { JobQueue } from '../../queue/define-job.ts'
import {
  awaitDeletions,
  deleteContacts,
  deletionUnderWay,
  eraseAnswers,
  eraseFiles,
  forgetInJobs,
  lockEventCounts,
  uncountEvents,
} from './erase-contacts.sql.ts'

/** Follows deletions of contacts; one job that waits does the work for all of them. */
export const eraseTraces: JobQueue<{ projectId: string }> = {
  name: 'contacts.erase-traces',
  payload: z.object({ projectId: z.uuid() }),
  options: { policy: 'short', retryLimit: 5, retryBackoff: true, expireInSeconds: 3_000 },
}

/**
 * Deletes contacts of the project with all that is about them: mail (also mail that still waits), its contents
 * and files, events, memberships, workflow runs, and their addresses in import reports and in answers kept for
 * repeats. What takes a while follows in a job of the same commit. A suppressed address stays suppressed.
 * Returns the ids of those that there were.
 */
export async function eraseContacts(ctx: Ctx, ids: string[]): Promise<string[]> {
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    await tx.sql(lockEventCounts, [projectId])
    await tx.sql(uncountEvents, [projectId, ids])
    const deleted = await tx.sql(deleteContacts, [projectId, ids])
    if (deleted.length === 0) return []
    await tx.sql(forgetInJobs, [projectId, deleted.map(({ email }) => email)])
    await tx.sql(deletionUnderWay, [projectId])
    await tx.enqueue(eraseTraces, { projectId }, { singletonKey: projectId })
    return deleted.map(({ id }) => id)
  })
}

/** False when there is no such contact. */
export const eraseContact = async (ctx: Ctx, id: string): Promise<boolean> =>
  (await eraseContacts(ctx, [id])).length > 0

/** Rows per statement: short enough that nobody waits for the locks. */
const BATCH = 1_000

/** Removes what deleted contacts have left behind in other places than their own rows. */
export async function eraseTracesOfProject(ctx: Ctx): Promise<void> {
  const projectId = projectIdOf(ctx)
  await ctx.sql(awaitDeletions, [projectId])
  for (let after: string | undefined = ''; after !== undefined; ) {
    const [last]: { key: string }[] = await ctx.sql(eraseAnswers, [projectId, after, BATCH])
    after = last?.key
  }
  let erased = BATCH
  while (erased === BATCH) erased = (await ctx.sql(eraseFiles, [projectId, BATCH])).length
}
