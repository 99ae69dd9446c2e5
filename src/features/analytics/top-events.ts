import { isReservedEvent } from '../../changes/event-names.rules.ts'
import type { Ctx } from '../../ctx.ts'
import { pageLimit } from '../../paging/cursor-page.ts'
import { countEventsByName } from '../event-statistics/event-statistics.ts'
import { mailRange, type RangeRequest } from './mail-counts.ts'

export type TopEvent = { name: string; count: number; trend: number }

/** Growth in percent, with two digits behind the point; 100 of what was not there before. */
const growth = (count: number, before: number): number =>
  before === 0 ? 100 : Math.round(((count - before) / before) * 10_000) / 100

/** Events that the project tracked itself in a range, the most frequent first, compared with as long a time before it. */
export async function topEvents(
  ctx: Ctx,
  { limit, ...request }: RangeRequest & { limit?: number | null | undefined },
): Promise<TopEvent[]> {
  const most = pageLimit(limit)
  const { from, to } = mailRange(ctx, request)
  const earlier = new Date(from.getTime() - (to.getTime() - from.getTime()))
  const [counts, before] = await Promise.all([
    countEventsByName(ctx, { from, to }),
    countEventsByName(ctx, { from: earlier, to: from }),
  ])
  const past = new Map(before.map(({ name, count }) => [name, count]))
  return counts
    .filter(({ name }) => !isReservedEvent(name))
    .slice(0, most)
    .map(({ name, count }) => ({ name, count, trend: growth(count, past.get(name) ?? 0) }))
}

/** How many events the project tracked itself in a range; of names beyond the 1,000 most frequent none. */
export async function countTracked(ctx: Ctx, range: { from: Date; to: Date }): Promise<number> {
  const counts = await countEventsByName(ctx, range)
  return counts.reduce((sum, { name, count }) => (isReservedEvent(name) ? sum : sum + count), 0)
}
