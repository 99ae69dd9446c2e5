import { watch } from '../../admission/watch.ts'
import type { Ctx } from '../../ctx.ts'
import { MAX_LIMIT } from '../../paging/cursor-page.ts'
import { type Activity, type FeedFilter, listActivity } from './feed.ts'

/**
 * The newest entries of the feed, then at every look those that have been added, the newest first. Of more than 100 that
 * come between two looks the newest 100 are told. It looks at what is stored, so an entry counts that another process wrote,
 * or one that was committed late.
 */
export function watchActivity(ctx: Ctx, filter: FeedFilter): Promise<AsyncIterableIterator<Activity[]>> {
  let known = new Set<string>()
  let added: Activity[] = []
  let looks = 0
  return watch(ctx, {
    read: async () => {
      const { data } = await listActivity(ctx, { ...filter, limit: MAX_LIMIT })
      const fresh = data.filter(({ id }) => !known.has(id))
      known = new Set(data.map(({ id }) => id))
      if (fresh.length > 0 || looks === 0) {
        added = fresh
        looks += 1
      }
      return added
    },
    stateOf: () => [looks],
    isOver: () => false,
  })
}
