import { compileTree } from '../../audience/compile.sql.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import { rangeEnd } from '../../audience/scan.sql.ts'
import type { FilterTree } from '../../audience/tree.rules.ts'
import { segmentFollowingWork } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId, LAST_ID } from '../../lib/ids.ts'
import { askPasses, beginWindows, checkOf, noteWindows } from './compute.sql.ts'
import { allTracked } from './follow-changes.sql.ts'
import { withMemberships } from './membership.ts'
import { type Boundaries, boundariesOf } from './windows.rules.ts'
import { contactsAged, contactsPassed, eventsPassed, timedConditions } from './windows.sql.ts'

/** By how much the time in a contact's id may differ from the time of its creation. */
const ID_SLACK_MS = 60_000
const FIRST_ID = earliestId(new Date(0))

/**
 * Finds the contacts for which windows of tracked segments have passed since the last look and has them evaluated, as
 * if they had changed: by indexes where there are some, otherwise `size` contacts at a time. Part of the span is
 * looked at when `share` is below 1. False when another slice is at it.
 */
export async function followWindows(
  ctx: Ctx,
  { size, share }: { size: number; share: number },
): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  const done = await withMemberships(ctx, async (tx, now) => {
    const [check] = await tx.sql(checkOf, { projectId, clockShift: tx.services.clockShift() })
    if (!check) return true
    const { windowsAt, scanTo, scanAfter } = check
    const span = Math.max(1, Math.ceil((now.getTime() - windowsAt.getTime()) * share))
    const to = scanTo ?? new Date(windowsAt.getTime() + span)
    const boundaries = boundariesOf(await timedTrees(tx), windowsAt, to)
    const indexed = scanTo === null ? await noteIndexed(tx, boundaries, now) : 0
    const found = await noteSearched(tx, boundaries, { after: scanAfter ?? FIRST_ID, size, now })
    const progress =
      found.last === null
        ? { windowsAt: to, scanTo: null, scanAfter: null }
        : { windowsAt, scanTo: to, scanAfter: found.last }
    await tx.sql(noteWindows, { projectId, ...progress })
    if (indexed + found.count > 0) tx.requestWork(segmentFollowingWork)
    return true
  })
  return done ?? false
}

/** Begins to follow windows with the first segment of the project that is tracked. */
export async function startWindows(tx: Ctx, segmentId: string): Promise<void> {
  await tx.sql(beginWindows, {
    projectId: projectIdOf(tx),
    segmentId,
    clockShift: tx.services.clockShift(),
  })
}

/** When too much has left windows at once to be found: passes over all contacts find it. False as above. */
export async function leaveWindowsToPasses(ctx: Ctx): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  const done = await withMemberships(ctx, async (tx, now) => {
    const tracked = await tx.sql(allTracked, { projectId })
    await tx.sql(askPasses, { projectId, segmentIds: tracked.map(({ id }) => id) })
    await tx.sql(noteWindows, { projectId, windowsAt: now, scanTo: null, scanAfter: null })
    return true
  })
  return done ?? false
}

async function timedTrees(tx: Ctx): Promise<FilterTree[]> {
  const rows = await tx.sql(timedConditions, { projectId: projectIdOf(tx) })
  return rows.flatMap(({ condition }) => {
    try {
      return [parseTree(condition, 'condition')]
    } catch {
      // The evaluation of the segment reports a condition that cannot be read.
      return []
    }
  })
}

async function noteIndexed(tx: Ctx, { events, created }: Boundaries, now: Date): Promise<number> {
  const projectId = projectIdOf(tx)
  const rows = []
  if (events.length > 0) {
    const names = events.map(({ name }) => name)
    const [since, before] = [events.map((one) => one.since), events.map((one) => one.before)]
    rows.push(...(await tx.sql(eventsPassed, { projectId, now, names, since, before })))
  }
  if (created.length > 0) {
    const [since, before] = [created.map((one) => one.since), created.map((one) => one.before)]
    const firstIds = since.map((time) => earliestId(new Date(time.getTime() - ID_SLACK_MS)))
    const lastIds = before.map((time) => earliestId(new Date(time.getTime() + ID_SLACK_MS)))
    rows.push(...(await tx.sql(contactsAged, { projectId, now, since, before, firstIds, lastIds })))
  }
  return rows.reduce((sum, { count }) => sum + count, 0)
}

type Range = { after: string; size: number; now: Date }

/** The next contacts of a search; `last` is null at its end. */
async function noteSearched(
  tx: Ctx,
  { search }: Boundaries,
  { after, size, now }: Range,
): Promise<{ count: number; last: string | null }> {
  if (search === null) return { count: 0, last: null }
  const projectId = projectIdOf(tx)
  const [end] = await tx.sql(rangeEnd, { projectId, after, until: LAST_ID, offset: size - 1 })
  const audience = { tree: search.tree, segments: new Map() }
  const condition = compileTree(audience, now)
  const [noted] = await tx.sql(contactsPassed(condition), {
    projectId,
    now,
    after,
    until: end?.id ?? LAST_ID,
    keys: search.keys,
    ...condition.params,
  })
  return { count: noted?.count ?? 0, last: end?.id ?? null }
}
