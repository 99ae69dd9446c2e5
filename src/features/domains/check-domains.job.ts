import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { defineProjectWork } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { checkDomain } from './check-domain.ts'
import { projectsWithDueDomains } from './domains.sql.ts'
import { keepsMail } from './sender.ts'

/** Domains that are looked at together: each mostly waits for servers of others. */
const TOGETHER = 10

/** Looks at the DNS of domains: every 5 minutes while records are awaited, else hourly. */
export const checkDomainsJob = defineProjectWork({
  kind: workKind('domains.check'),
  concurrency: 2,
  // Where mail stays in the mailbox nobody needs records.
  pending: async (ctx) =>
    keepsMail(ctx.config)
      ? []
      : (await ctx.sql(projectsWithDueDomains, { now: ctx.now() })).map(({ projectId }) => projectId),
  slice: async (ctx, turn) => {
    for (;;) {
      const due = await ctx.db.domain.findMany({
        where: { projectId: projectIdOf(ctx), nextCheckAt: { lte: ctx.now() } },
        orderBy: { nextCheckAt: 'asc' },
        take: TOGETHER,
      })
      await Promise.all(due.map((domain) => checkExisting(ctx, domain)))
      if (due.length < TOGETHER) return 'done'
      if (!turn.hasTime()) return 'more'
    }
  },
})

/** It may have been deleted meanwhile. */
async function checkExisting(ctx: Ctx, domain: Domain): Promise<void> {
  await checkDomain(ctx, domain).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'DOMAIN_NOT_FOUND')) throw error
  })
}
