import { defineProjectWork } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { campaignWork } from '../campaigns/campaign-work.ts'
import { advanceCampaigns } from './advance-campaigns.ts'
import { projectsWithCampaignWork } from './ledger.sql.ts'

/** Projects that one sweep finds. */
const MAX_FOUND = 1_000

export const advanceCampaignsJob = defineProjectWork({
  kind: campaignWork,
  concurrency: 2,
  pending: async (ctx) => {
    const clockShift = ctx.services.clockShift()
    const found = await ctx.sql(projectsWithCampaignWork, { clockShift, limit: MAX_FOUND })
    return found.map(({ projectId }) => ({ projectId, priority: PRIORITIES.campaign }))
  },
  slice: advanceCampaigns,
})
