import { DAY_MS } from '../../audience/dates.rules.ts'
import type { Recount } from '../../changes/event-counts.sql.ts'
import { lockEventCounts, NEVER_COUNTED } from '../../changes/event-counts.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId, LAST_ID } from '../../lib/ids.ts'
import type { Turn } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import {
  eventTotal,
  firstEventAt,
  noteRecount,
  type OpenEvents,
  recountDays,
  recountOf,
  settleDays,
} from './event-counts.sql.ts'
import { midnight } from './event-range.rules.ts'

/** Counting a project's events. */
export const eventCountingWork = workKind('events.count')

/**
 * Days after the one of an event in which it may still come: far more than clocks of processes differ and
 * statements take.
 */
const OPEN_DAYS = 2
/** Up to this number the events of open days are counted for each request: some 30 ms. */
const LIVE = 50_000
/** Greatest age of a count of more events that still answers a request. */
const FRESH_MS = 600_000
/** Counting takes at most this part of the time of a project. */
const SHARE = 20
const PAUSE_MS = 60_000
/** Pause of projects whose open days have few events: counting only has to settle their days. */
const LONG_PAUSE_MS = 6 * 3_600_000

const LAST_TIME = new Date(Date.UTC(9999, 0))
const recount = async (ctx: Ctx): Promise<Recount> =>
  (await ctx.sql(recountOf, { projectId: projectIdOf(ctx) }))[0] ?? NEVER_COUNTED

/** The age of a count; positive also when a wrong clock dated it in the future. */
const ageOf = (ctx: Ctx, { countedAt }: Recount): number =>
  Math.abs(ctx.now().getTime() - (countedAt?.getTime() ?? 0))

/** Tells how to count the events of days that are not settled; asks for counting work when it is due. */
export async function openEvents(ctx: Ctx): Promise<OpenEvents> {
  const last = await recount(ctx)
  const isFresh = ageOf(ctx, last) < FRESH_MS + 2 * SHARE * last.tookMs
  if (!isFresh) ctx.requestWork(eventCountingWork, PRIORITIES.maintenance)
  return { firstId: earliestId(last.settledUntil), kept: isFresh && last.openCount > LIVE }
}

/** How many events the project has, of a name if it is given. */
export async function countEventsOf(ctx: Ctx, name: string | null): Promise<number> {
  const { firstId, kept } = await openEvents(ctx)
  const [total] = await ctx.sql(eventTotal, { projectId: projectIdOf(ctx), firstId, kept, name })
  return total?.count ?? 0
}

/**
 * Settles days that are long over, a commit each, then counts those after them. Returns true when more is
 * left to do.
 */
export async function countEvents(ctx: Ctx, turn: Pick<Turn, 'hasTime'>): Promise<boolean> {
  while (await ctx.atomically(settleNextDay)) if (!turn.hasTime()) return true
  const last = await recount(ctx)
  if (ageOf(ctx, last) < PAUSE_MS / 2 + SHARE * last.tookMs) return false
  const began = performance.now()
  const count =
    (await countDays(ctx, last)) ??
    // Deletions were faster; now they wait.
    (await ctx.atomically(async (tx) => countDays(tx, await lockEventCounts(tx)))) ??
    0
  const tookMs = Math.round(performance.now() - began)
  const now = ctx.now()
  const pause = count > LIVE / 2 ? PAUSE_MS + SHARE * tookMs : LONG_PAUSE_MS
  await ctx.sql(noteRecount, {
    projectId: projectIdOf(ctx),
    now,
    tookMs,
    openCount: count,
    dueAt: new Date(now.getTime() + pause),
  })
  return false
}

/** Counts the days from where the project is settled. Returns undefined when that has changed meanwhile. */
async function countDays(
  ctx: Ctx,
  { settledUntil, version }: Pick<Recount, 'settledUntil' | 'version'>,
  to: Date | null = null,
): Promise<number | undefined> {
  const [counted] = await ctx.sql(recountDays, {
    projectId: projectIdOf(ctx),
    firstId: earliestId(settledUntil),
    endId: to ? earliestId(to) : LAST_ID,
    from: settledUntil,
    to: to ?? LAST_TIME,
    version,
  })
  return counted?.count
}

/** Settles the next day that has events. False: none is left. */
async function settleNextDay(tx: Ctx): Promise<boolean> {
  const projectId = projectIdOf(tx)
  const end = midnight(tx.now().getTime()) - OPEN_DAYS * DAY_MS
  if ((await recount(tx)).settledUntil.getTime() >= end) return false
  const { settledUntil, version } = await lockEventCounts(tx)
  if (settledUntil.getTime() >= end) return false
  const [first] = await tx.sql(firstEventAt, { projectId, firstId: earliestId(settledUntil) })
  // An event whose id tells another time than it has must not hold up the others.
  const from = Math.max(midnight(first?.at.getTime() ?? end), settledUntil.getTime())
  const next = Math.min(from + DAY_MS, end)
  await countDays(tx, { settledUntil, version }, new Date(next))
  await tx.sql(settleDays, { projectId, from: settledUntil, to: new Date(next) })
  return next < end
}
