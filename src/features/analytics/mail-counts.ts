import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import type { MailboxProvider } from '../../generated/prisma/enums.ts'
import { type CampaignRates, ratesOf } from '../../messages/campaign-counts.rules.ts'
import { type MailCounts, mailByPart, mailByProvider, mergeMailCounts } from './mail-counts.sql.ts'
import { hoursOf, type MailRange, type RangeRequest, readMailRange, startsOf } from './mail-range.rules.ts'

export type { MailCounts, RangeRequest }

export const NOTHING: MailCounts = {
  ...{ sent: 0, delivered: 0, bounced: 0, softBounced: 0, complained: 0, failed: 0, suppressed: 0 },
  ...{ received: 0, opened: 0, clicked: 0, opens: 0, clicks: 0, botOpens: 0, botClicks: 0 },
}

/** Throws BAD_REQUEST for a range that is reversed, or of what are no dates. */
export function mailRange(ctx: Ctx, request: RangeRequest): MailRange {
  const range = readMailRange(request, ctx.now())
  if (typeof range === 'string') throw badRequest(range)
  return range
}

const byPart = async (ctx: Ctx, { from, to }: MailRange, starts: Date[]) => {
  const rows = await ctx.sql(mailByPart, { projectId: projectIdOf(ctx), from, to, starts })
  return new Map(rows.map((row) => [row.part, row]))
}

export type MailDay = MailCounts & { date: string }

/** What became of mail on each day of a range, days without any included. */
export async function mailByDay(ctx: Ctx, request: RangeRequest): Promise<MailDay[]> {
  const range = mailRange(ctx, request)
  const parts = await byPart(ctx, range, startsOf(range.days))
  return range.days.map(({ date }, part) => ({ ...NOTHING, ...parts.get(part), date }))
}

export type MailHour = Pick<MailCounts, 'opened' | 'clicked' | 'opens' | 'clicks'> & { hour: number }

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)

/** Opens and clicks of a range by the hour of the day in its time zone, all 24. */
export async function mailByHour(ctx: Ctx, request: RangeRequest): Promise<MailHour[]> {
  const range = mailRange(ctx, request)
  const hours = hoursOf(range)
  const parts = await byPart(
    ctx,
    range,
    hours.map(({ start }) => start),
  )
  const sums = HOURS.map((hour) => ({ hour, opened: 0, clicked: 0, opens: 0, clicks: 0 }))
  for (const [part, { opened, clicked, opens, clicks }] of parts) {
    const sum = sums[hours[part]?.hour ?? 0]
    if (!sum) continue
    sum.opened += opened
    sum.clicked += clicked
    sum.opens += opens
    sum.clicks += clicks
  }
  return sums
}

/** What became of all mail of a range. */
export async function mailTotals(ctx: Ctx, range: MailRange): Promise<MailCounts> {
  const parts = await byPart(ctx, range, [range.from])
  return { ...NOTHING, ...parts.get(0) }
}

export type ProviderMail = MailCounts & { provider: MailboxProvider }

/** What became of mail of a range by who keeps the mailboxes of its recipients; those without any mail are left out. */
export function mailOfProviders(ctx: Ctx, request: RangeRequest): Promise<ProviderMail[]> {
  const { from, to } = mailRange(ctx, request)
  return ctx.sql(mailByProvider, { projectId: projectIdOf(ctx), from, to })
}

/** Rates of mail as those of campaigns are computed. */
export const mailRates = (counts: MailCounts): CampaignRates =>
  ratesOf({
    sentCount: counts.sent,
    bouncedCount: counts.bounced,
    openedCount: counts.opened,
    clickedCount: counts.clicked,
    deliveredCount: counts.delivered,
    complainedCount: counts.complained,
    unsubscribedCount: 0,
  })

/** Keeps only the sums of at most `limit` counts of quarters of hours before `before`. Returns how many it found. */
export async function mergeMailCountsBefore(ctx: Ctx, before: Date, limit: number): Promise<number> {
  const [merged] = await ctx.sql(mergeMailCounts, { projectId: projectIdOf(ctx), before, limit })
  return merged?.count ?? 0
}
