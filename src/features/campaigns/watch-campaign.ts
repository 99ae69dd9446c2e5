import { watch } from '../../admission/watch.ts'
import type { Ctx } from '../../ctx.ts'
import { type CampaignState, getCampaignState } from './find-campaign.ts'

/** A campaign as it is now, then at every change of its numbers, until it is over and nothing is under way. */
export const watchCampaign = (ctx: Ctx, id: string): Promise<AsyncIterableIterator<CampaignState>> =>
  watch(ctx, {
    read: () => getCampaignState(ctx, id),
    stateOf: (campaign) => [campaign.status, campaign.paused, ...countersOf(campaign)],
    isOver: ({ status, pendingCount, sendingCount }) =>
      (status === 'SENT' || status === 'CANCELLED') && pendingCount + sendingCount === 0,
  })

const countersOf = (campaign: object): unknown[] =>
  Object.entries(campaign).flatMap(([name, value]) => (name.endsWith('Count') ? [value] : []))
