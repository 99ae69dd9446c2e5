import { z } from 'zod'
import { earliestId } from '../../lib/ids.ts'
import type { JobDefinition } from '../../queue/define-job.ts'
import {
  purgeAttachments,
  purgeContactJobs,
  purgeContents,
  purgeDeadMail,
  purgeIdempotencyKeys,
} from './purge-expired.sql.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Rows per statement: short enough that nobody waits for the locks. */
const BATCH = 1_000

/**
 * Removes what has been kept for its time: used idempotency keys, rendered bodies and their files, reports of
 * imports and bulk changes.
 */
export const purgeExpired: JobDefinition<Record<string, never>> = {
  name: 'operations.purge-expired',
  payload: z.record(z.string(), z.never()),
  options: { retryLimit: 3, retryBackoff: true, expireInSeconds: 3_000 },
  cron: '17 * * * *',
  async handle(ctx) {
    const now = ctx.now().getTime()
    const keysBefore = new Date(now - ctx.config.idempotencyTtlHours * HOUR)
    await repeat(() => ctx.sql(purgeIdempotencyKeys, [keysBefore, BATCH]))
    const firstKept = earliestId(new Date(now - ctx.config.emailBodyRetentionDays * DAY))
    const firstJobKept = earliestId(new Date(now - ctx.config.contactJobRetentionDays * DAY))
    const projects = await ctx.db.project.findMany({ select: { id: true } })
    for (const { id } of projects) {
      await repeat(() => ctx.sql(purgeContents, [firstKept, BATCH, id]))
      await repeat(() => ctx.sql(purgeDeadMail, [firstKept, BATCH, id]))
      await repeat(() => ctx.sql(purgeAttachments, [firstKept, BATCH, id]))
      await repeat(() => ctx.sql(purgeContactJobs, [firstJobKept, BATCH, id]))
    }
  },
}

async function repeat(purge: () => Promise<unknown[]>): Promise<void> {
  let purged = BATCH
  while (purged === BATCH) purged = (await purge()).length
}
