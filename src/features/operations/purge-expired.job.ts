import { z } from 'zod'
import type { JobDefinition } from '../../queue/define-job.ts'
import { purgeAttachments, purgeContents, purgeIdempotencyKeys } from './purge-expired.sql.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Rows per statement: short enough that nobody waits for the locks. */
const BATCH = 1_000

/** Removes what has been kept for its time: used idempotency keys, rendered bodies and their files. */
export const purgeExpired: JobDefinition<Record<string, never>> = {
  name: 'operations.purge-expired',
  payload: z.record(z.string(), z.never()),
  options: { retryLimit: 3, retryBackoff: true, expireInSeconds: 3_000 },
  cron: '17 * * * *',
  async handle(ctx) {
    const now = ctx.now().getTime()
    const bodies = new Date(now - ctx.config.emailBodyRetentionDays * DAY)
    const keys = new Date(now - ctx.config.idempotencyTtlHours * HOUR)
    const purges = [
      [purgeIdempotencyKeys, keys],
      [purgeContents, bodies],
      [purgeAttachments, bodies],
    ] as const
    for (const [purge, before] of purges) {
      let purged = BATCH
      while (purged === BATCH) purged = (await ctx.sql(purge, [before, BATCH])).length
    }
  },
}
