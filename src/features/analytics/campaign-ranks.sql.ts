import { analyticStatement } from '../../db/sql.ts'
import type { CampaignStatus } from '../../generated/prisma/enums.ts'
import type { CampaignCounts } from '../../messages/campaign-counts.rules.ts'
import { countersOf, SUMS } from '../../messages/ledger.sql.ts'

/** What campaigns are compared by. */
export type CampaignMetric = 'opens' | 'clicks' | 'openRate' | 'clickRate'

/** A campaign that has begun, with its counters at this moment. */
export type RankedCampaign = CampaignCounts & {
  id: string
  name: string
  subject: string
  status: CampaignStatus
  sentAt: Date | null
}

/** The messages that can have reached somebody: see `ratesOf`. */
const REACHED = 'nullif(greatest("sentCount" - "bouncedCount", 0), 0)'
const OPEN_RATE = `100.0 * "openedCount" / ${REACHED}`
const CLICK_RATE = `100.0 * "clickedCount" / ${REACHED}`

/** The campaigns that began in a range, or were written in it when they have not begun. Index: campaigns_began. */
const COUNTED = `
  counted as (
    select c.id, c.name, c.subject, c.status, c.sent_at as "sentAt", c.started_at as "startedAt", ${countersOf('c')}
    from campaigns c
    left join lateral (
      select ${SUMS} from campaign_tallies where project_id = c.project_id and campaign_id = c.id) t on true
    where c.project_id = :projectId::uuid and coalesce(c.started_at, c.created_at) >= :from::timestamptz
      and coalesce(c.started_at, c.created_at) < :to::timestamptz and not c.deleted
  )`

/** The first campaigns by a metric, of those that began in a range. */
export const topCampaigns = analyticStatement<
  { projectId: string; from: Date; to: Date; metric: CampaignMetric; limit: number },
  RankedCampaign
>(
  `with ${COUNTED}
   select * from counted where "startedAt" is not null
   order by case :metric::text when 'opens' then "openedCount" when 'clicks' then "clickedCount"
     when 'openRate' then ${OPEN_RATE} else ${CLICK_RATE} end desc nulls last, "openedCount" desc, id desc
   limit :limit::int`,
)

export type CampaignOverview = {
  total: number
  active: number
  completed: number
  averageOpenRate: number
  averageClickRate: number
}

/** How many campaigns there are in a range, and the means of the rates of those of which a message has left. */
export const campaignOverview = analyticStatement<
  { projectId: string; from: Date; to: Date },
  CampaignOverview
>(
  `with ${COUNTED}
   select count(*)::int as total,
     (count(*) filter (where status in ('SCHEDULED', 'SENDING')))::int as active,
     (count(*) filter (where status = 'SENT'))::int as completed,
     coalesce(round(avg(${OPEN_RATE}), 2), 0)::float8 as "averageOpenRate",
     coalesce(round(avg(${CLICK_RATE}), 2), 0)::float8 as "averageClickRate"
   from counted`,
)

export type LinkClicks = { link: string; clicks: number; botClicks: number }

/** The links of a campaign that were followed most. Index: campaign_links_project_id_campaign_id_clicks_link_id_idx. */
export const campaignLinks = analyticStatement<
  { projectId: string; campaignId: string; limit: number },
  LinkClicks
>(
  `select link, clicks, bot_clicks as "botClicks" from campaign_links
   where project_id = :projectId::uuid and campaign_id = :campaignId::uuid
   order by clicks desc, link_id desc limit :limit::int`,
)
