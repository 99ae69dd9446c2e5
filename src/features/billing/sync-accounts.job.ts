import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { projectsToSync } from './accounts.sql.ts'
import { billingSyncWork, syncAccount } from './sync-account.ts'

/** Projects of one sweep: the others follow in the next ones. */
const PROJECTS = 1_000

export const syncAccountsJob = defineProjectWork({
  kind: billingSyncWork,
  concurrency: 2,
  pending: async (ctx) => {
    if (!ctx.config.billing) return []
    const found = await ctx.sql(projectsToSync, { now: ctx.now(), limit: PROJECTS })
    return found.map(({ projectId }) => ({ projectId, priority: PRIORITIES.maintenance }))
  },
  slice: async (ctx) => {
    if (ctx.config.billing) await syncAccount(ctx)
    return 'done'
  },
})
