import { type Ctx, projectIdOf } from '../../ctx.ts'
import { pageLimit } from '../../paging/cursor-page.ts'
import { getCampaignState } from '../campaigns/find-campaign.ts'
import {
  type CampaignMetric,
  type CampaignOverview,
  campaignOverview,
  type LinkClicks,
  type RankedCampaign,
  campaignLinks as readLinks,
  topCampaigns as readTop,
} from './campaign-ranks.sql.ts'
import { mailRange, type RangeRequest } from './mail-counts.ts'

export type { CampaignMetric, CampaignOverview, LinkClicks, RankedCampaign }

type Limited = { limit?: number | null | undefined }

/** The campaigns that began in a range, the first ones by a metric. */
export function topCampaigns(
  ctx: Ctx,
  { metric, limit, ...request }: RangeRequest & Limited & { metric?: CampaignMetric | null | undefined },
): Promise<RankedCampaign[]> {
  const { from, to } = mailRange(ctx, request)
  const projectId = projectIdOf(ctx)
  return ctx.sql(readTop, { projectId, from, to, metric: metric ?? 'opens', limit: pageLimit(limit) })
}

/** How many campaigns a range has, by state, and their mean rates. */
export async function overviewOfCampaigns(ctx: Ctx, request: RangeRequest): Promise<CampaignOverview> {
  const { from, to } = mailRange(ctx, request)
  const [overview] = await ctx.sql(campaignOverview, { projectId: projectIdOf(ctx), from, to })
  return overview ?? { total: 0, active: 0, completed: 0, averageOpenRate: 0, averageClickRate: 0 }
}

/** The links of a campaign that were followed most. Throws CAMPAIGN_NOT_FOUND. */
export async function linksOfCampaign(
  ctx: Ctx,
  { id, limit }: Limited & { id: string },
): Promise<LinkClicks[]> {
  const campaign = await getCampaignState(ctx, id)
  const projectId = projectIdOf(ctx)
  return ctx.sql(readLinks, { projectId, campaignId: campaign.id, limit: pageLimit(limit) })
}
