import { type Ctx, projectIdOf } from '../../ctx.ts'
import { defineProjectWork, type SliceResult, type Turn } from '../../queue/define-work.ts'
import {
  type Duty,
  nextDuty,
  SEGMENT_STATE,
  type SegmentState,
  SHARE,
  WINDOWS_EVERY_MS,
} from './compute.rules.ts'
import { type CheckRow, checkOf, projectsToCheck, restUntil } from './compute.sql.ts'
import { removePart, segmentComputingWork } from './compute.ts'
import { perform } from './perform-duty.ts'

/** Projects of one sweep: the others are found by the next one. */
const MAX_PROJECTS = 1_000
/** Members of deleted segments that one commit removes. */
const REMOVED = 5_000
/** Waiting time for another slice that holds the project's members. */
const BUSY_MS = 50
/** A project without segments is not looked at again until a segment is created. */
const NEVER_MS = 365 * 24 * 3_600_000

/** Looks at the segments of projects: passes over all contacts, windows that have passed, counts. */
export const computeSegmentsJob = defineProjectWork({
  kind: segmentComputingWork,
  concurrency: 2,
  pending: async (ctx) => {
    const rows = await ctx.sql(projectsToCheck, {
      clockShift: ctx.services.clockShift(),
      limit: MAX_PROJECTS,
    })
    return rows.map(({ projectId }) => projectId)
  },
  slice: async (ctx, turn) => {
    const [check] = await ctx.sql(checkOf, {
      projectId: projectIdOf(ctx),
      clockShift: ctx.services.clockShift(),
    })
    if (!check) return 'done'
    while (await removePart(ctx, REMOVED)) if (!turn.hasTime()) return 'more'
    return workFor(ctx, turn, check)
  },
})

/**
 * Does what is due, as long as the turn lasts. Duties that are not urgent get their share of the time, and
 * then the project rests.
 */
async function workFor(ctx: Ctx, turn: Turn, check: CheckRow): Promise<SliceResult> {
  const began = performance.now()
  const now = () => check.now.getTime() + performance.now() - began
  let spent = 0
  const state = await readState(ctx, check)
  let duty = dutyOf(state, now())
  while (duty && mayStart(duty, check, now()) && turn.hasTime()) {
    const started = performance.now()
    if (!(await perform(ctx, duty, now()))) return { afterMs: BUSY_MS }
    if (!duty.isUrgent) spent += performance.now() - started
    await refreshState(ctx, state, duty)
    duty = dutyOf(state, now())
  }
  const rests = Math.max(check.restsUntil.getTime(), spent > 0 ? now() + spent * (SHARE - 1) : 0)
  if (duty?.isUrgent && duty.at <= now()) return 'more'
  const dueAt = !duty ? now() + NEVER_MS : duty.isUrgent ? duty.at : Math.max(duty.at, rests)
  await ctx.sql(restUntil, {
    projectId: projectIdOf(ctx),
    dueAt: new Date(dueAt),
    restsUntil: new Date(rests),
    seenDueAt: check.dueAt,
  })
  return duty?.isUrgent ? { afterMs: Math.ceil(duty.at - now()) } : 'done'
}

const mayStart = ({ isUrgent, at }: Duty, { restsUntil }: CheckRow, now: number): boolean =>
  at <= now && (isUrgent || restsUntil.getTime() <= now)

type State = { segments: Map<string, SegmentState>; windowsAt: number; oldestXid: bigint }

async function readState(ctx: Ctx, check: CheckRow): Promise<State> {
  const where = { projectId: projectIdOf(ctx) }
  const segments = await ctx.db.segment.findMany({ where, select: SEGMENT_STATE })
  return {
    segments: new Map(segments.map((one) => [one.id, one])),
    windowsAt: windowsDue(check),
    oldestXid: BigInt(check.oldestXid),
  }
}

const windowsDue = ({ scanTo, windowsAt }: CheckRow): number =>
  scanTo === null ? windowsAt.getTime() + WINDOWS_EVERY_MS : 0

/** Reads again what a duty has changed; the next slice sees what others have changed meanwhile. */
async function refreshState(ctx: Ctx, state: State, duty: Duty): Promise<void> {
  if (duty.task === 'windows') {
    const [check] = await ctx.sql(checkOf, {
      projectId: projectIdOf(ctx),
      clockShift: ctx.services.clockShift(),
    })
    if (check) state.windowsAt = windowsDue(check)
    return
  }
  const id = duty.segmentId
  const projectId_id = { projectId: projectIdOf(ctx), id }
  const segment = await ctx.db.segment.findUnique({ where: { projectId_id }, select: SEGMENT_STATE })
  if (segment) state.segments.set(id, segment)
  else state.segments.delete(id)
}

const dutyOf = ({ segments, windowsAt, oldestXid }: State, now: number): Duty | null =>
  nextDuty([...segments.values()], windowsAt, { now, oldestXid })
