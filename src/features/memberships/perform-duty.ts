import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut } from '../../db/sql.ts'
import type { Duty } from './compute.rules.ts'
import { holdCount, holdPass } from './compute.sql.ts'
import { BrokenSegment, passPart } from './compute.ts'
import { reportTrouble } from './follow-changes.ts'
import { keepStored } from './membership.ts'
import { followWindows, leaveWindowsToPasses } from './windows.ts'

/** Contacts of one commit; fewer when that took too long. */
const SIZE = 5_000
const SMALLEST_SIZE = 20
/** Smallest size of a part: windows that have passed can be looked at in small shares. */
const SMALLEST_SHARE = 1
/** How long a pass rests when even its smallest part took too long: another transaction may hold the rows. */
const REST_MS = 10_000

/** False when another slice is at the project's members. */
export async function perform(ctx: Ctx, duty: Duty, now: number): Promise<boolean> {
  if (duty.task === 'windows') return performWindows(ctx)
  const { segmentId, task } = duty
  try {
    if (task === 'pass') return await inParts((size) => passPart(ctx, segmentId, size), SMALLEST_SIZE)
    await keepStored(ctx, segmentId)
  } catch (error) {
    if (isTimeOut(error)) await putOff(ctx, duty, now, error)
    else if (isDatabaseUnavailable(error)) throw error
    else {
      const reason = error instanceof BrokenSegment ? error.cause : error
      await ctx.atomically((tx) => reportTrouble(tx, segmentId, reason, new Date(now)))
    }
  }
  return true
}

async function performWindows(ctx: Ctx): Promise<boolean> {
  try {
    return await inParts((size) => followWindows(ctx, { size, share: size / SIZE }), SMALLEST_SHARE)
  } catch (error) {
    if (!isTimeOut(error)) throw error
    ctx.log.warn({ err: error, projectId: projectIdOf(ctx) }, 'windows that have passed are left to passes')
    return leaveWindowsToPasses(ctx)
  }
}

/** That something takes too long says nothing about the condition: the segment goes on to follow changes. */
async function putOff(
  ctx: Ctx,
  { task, segmentId }: SegmentDuty,
  now: number,
  error: unknown,
): Promise<void> {
  const projectId = projectIdOf(ctx)
  ctx.log.warn({ err: error, projectId, segmentId, task }, 'a segment takes too long; it is tried again')
  const until = task === 'pass' ? new Date(now + REST_MS) : new Date(now)
  await ctx.sql(task === 'pass' ? holdPass : holdCount, { projectId, segmentId, until })
}

type SegmentDuty = Exclude<Duty, { task: 'windows' }>

/** Does a part of the work, a smaller one when it takes too long. */
async function inParts(work: (size: number) => Promise<boolean>, smallest: number): Promise<boolean> {
  for (let size = SIZE; ; size = Math.ceil(size / 8)) {
    try {
      return await work(size)
    } catch (error) {
      if (!isTimeOut(error) || size <= smallest) throw error
    }
  }
}
