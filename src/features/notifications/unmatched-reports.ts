import type { Ctx } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import {
  countUnmatched,
  forgetReceipts,
  forgetUnmatched,
  latestUnmatched,
  type UnmatchedRow,
} from './notifications.sql.ts'

/** The latest reports of messages that nobody here has sent, and how many there are. */
export async function listUnmatched(
  ctx: Ctx,
  limit: number,
): Promise<{ total: number; reports: UnmatchedRow[] }> {
  const [counted] = await ctx.sql(countUnmatched, {})
  return { total: counted?.count ?? 0, reports: await ctx.sql(latestUnmatched, { limit }) }
}

const DAY_MS = 86_400_000
/** Longer than a provider repeats a notification, and than one of SNS is believed (notifications.http.ts). */
const RECEIPT_DAYS = 30
const UNMATCHED_DAYS = 30
/** The newest ones are kept; there is room for more until the next time. */
const MAX_KEPT = 10_000

/** Forgets notifications of long ago, `limit` of each kind at most. Returns the greatest number that was forgotten. */
export async function forgetNotifications(ctx: Ctx, limit: number): Promise<number> {
  const daysAgo = (days: number) => new Date(ctx.now().getTime() - days * DAY_MS)
  const receipts = await ctx.sql(forgetReceipts, { before: daysAgo(RECEIPT_DAYS), limit })
  const unmatched = await ctx.sql(forgetUnmatched, {
    firstKept: earliestId(daysAgo(UNMATCHED_DAYS)),
    most: MAX_KEPT,
    limit,
  })
  return Math.max(receipts.length, unmatched.length)
}
