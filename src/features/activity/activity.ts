import { DAY_MS } from '../../audience/dates.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import type { CampaignRates } from '../../messages/campaign-counts.rules.ts'
import { pageLimit } from '../../paging/cursor-page.ts'
import {
  type MailCounts,
  mailRange,
  mailRates,
  mailTotals,
  type RangeRequest,
} from '../analytics/mail-counts.ts'
import { countTracked } from '../analytics/top-events.ts'
import { countActivity } from './feed.ts'
import { upcoming as readUpcoming, type Upcoming } from './upcoming.sql.ts'

export type { Upcoming }

export type ActivityStats = MailCounts & CampaignRates & { totalEvents: number }

/** What happened in a range, in total, and rates of it. */
export async function activityStats(ctx: Ctx, request: RangeRequest): Promise<ActivityStats> {
  const range = mailRange(ctx, request)
  const [counts, totalEvents] = await Promise.all([mailTotals(ctx, range), countTracked(ctx, range)])
  return { ...counts, ...mailRates(counts), totalEvents }
}

/** Without a number of minutes. */
const USUAL_MINUTES = 5
/** The most minutes: a day. */
const MAX_MINUTES = 1_440

export type RecentCount = { count: number; minutes: number }

/** How many entries the feed has of the last minutes: see `countActivity`. */
export async function recentCount(ctx: Ctx, minutes: number | null | undefined): Promise<RecentCount> {
  const asked = minutes ?? USUAL_MINUTES
  if (asked < 1) throw badRequest('The parameter minutes must be at least 1.')
  const counted = Math.min(asked, MAX_MINUTES)
  const startDate = new Date(ctx.now().getTime() - counted * 60_000).toISOString()
  return { count: await countActivity(ctx, { startDate }), minutes: counted }
}

const UPCOMING_DAYS = 30

/** What is scheduled for the next 30 days, the next first. */
export function upcomingActivity(ctx: Ctx, limit: number | null | undefined): Promise<Upcoming[]> {
  const now = ctx.now()
  const until = new Date(now.getTime() + UPCOMING_DAYS * DAY_MS)
  return ctx.sql(readUpcoming, { projectId: projectIdOf(ctx), now, until, limit: pageLimit(limit) })
}
