import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut, limitTime } from '../../../db/sql.ts'
import type { AppError } from '../../../errors.ts'
import type { SliceResult, Turn } from '../../../queue/define-work.ts'
import { removeCounts } from '../counts/counts.sql.ts'
import {
  dueExecutions,
  holdContacts,
  holdExecutions,
  holdWorkflows,
  nextDue,
  removeWorkflow,
  workflowToRemove,
} from './advance.sql.ts'
import { applyAll } from './apply-outcomes.ts'
import { followEvents } from './follow-events.ts'
import { runSchedule } from './run-schedule.ts'
import { asFailure, failed, type Moment, runSteps } from './run-steps.ts'

/** Executions of one commit; fewer when that took too long, one when something of theirs is refused. */
const BATCH = 200
const STATEMENT_MS = 5_000
/** Waiting time for another slice that has the project. */
const BUSY_MS = 50
/** What is further away is left to the sweep: a waiting job would stand in the way of a nearer one. */
const NEAR_MS = 2_000
const REMOVED = 1_000

/** Another slice has the project, or it is disabled. */
type Away = 'busy' | 'disabled'
type Advanced = { left: boolean; afterMs: number | null } | Away

const isAway = (result: unknown): result is Away => result === 'busy' || result === 'disabled'

/**
 * Lets the workflows of a project hear of events and moves the executions that can go on, in turns, as long as there is
 * time. One slice at a time does so in a project, so that an event finds every wait that began before it.
 */
export async function advanceWorkflows(ctx: Ctx, turn: Turn): Promise<SliceResult> {
  for (let size = BATCH; ; ) {
    if (turn.signal.aborted) return 'more'
    try {
      const advanced = await advance(ctx, size)
      if (advanced === 'disabled') return 'done'
      if (advanced === 'busy') return { afterMs: BUSY_MS }
      if (!advanced.left) {
        const { afterMs } = advanced
        return afterMs === null || afterMs > NEAR_MS ? 'done' : { afterMs: Math.max(BUSY_MS, afterMs) }
      }
      size = Math.min(BATCH, size * 2)
    } catch (error) {
      if (!isTimeOut(error) || size === 1) throw error
      size = Math.ceil(size / 8)
    }
    if (!turn.hasTime()) return 'more'
  }
}

/** One commit for events, and then one for executions. */
async function advance(ctx: Ctx, size: number): Promise<Advanced> {
  const more = await inTurn(ctx, (tx, { now }) => followEvents(tx, now))
  if (isAway(more)) return more
  // A wait whose event is among those that are left has not been in vain.
  const moved = await moveFirst(ctx, size, !more)
  if (isAway(moved)) return moved
  if (more || moved > 0) return { left: true, afterMs: null }
  return finish(ctx)
}

/** Runs work in a transaction with the turn of the project. */
async function inTurn<Result>(
  ctx: Ctx,
  work: (tx: Ctx, moment: Moment) => Promise<Result>,
): Promise<Result | Away> {
  return ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(STATEMENT_MS) })
    const [moment] = await tx.sql(holdWorkflows, {
      projectId: projectIdOf(tx),
      clockShift: tx.services.clockShift(),
    })
    if (!moment) return 'disabled'
    return moment.held ? work(tx, moment) : 'busy'
  })
}

type First = { id: string; contactId: string }

/** Moves the first executions that can go on. When the database refuses something of one, they are moved one by one. */
async function moveFirst(ctx: Ctx, size: number, timeouts: boolean): Promise<number | Away> {
  const first: First[] = []
  try {
    return await inTurn(ctx, async (tx, moment) => {
      const due = { projectId: projectIdOf(tx), now: moment.now, limit: size, timeouts }
      first.splice(0, first.length, ...(await tx.sql(dueExecutions, due)))
      return move(tx, first, moment, null)
    })
  } catch (error) {
    if (isDatabaseUnavailable(error) || first.length === 0) throw error
  }
  for (const one of first) await moveAlone(ctx, one)
  return first.length
}

/** Moves one execution; when something of it is refused, it has failed. */
async function moveAlone(ctx: Ctx, one: First): Promise<void> {
  try {
    await inTurn(ctx, (tx, moment) => move(tx, [one], moment, null))
  } catch (error) {
    const failure = asFailure(ctx, error)
    await inTurn(ctx, (tx, moment) => move(tx, [one], moment, failure))
  }
}

/** Runs the steps of executions and writes what they have come to; `failure` is what they come to instead. */
async function move(tx: Ctx, first: First[], moment: Moment, failure: AppError | null): Promise<number> {
  if (first.length === 0) return 0
  const projectId = projectIdOf(tx)
  await tx.sql(holdContacts, { projectId, ids: [...new Set(first.map(({ contactId }) => contactId))] })
  const ids = first.map(({ id }) => id)
  const executions = await tx.sql(holdExecutions, { projectId, ids, now: moment.now })
  const ran = failure ? failed(executions, failure) : await runSteps(tx, executions, moment)
  await applyAll(tx, ran, moment.now)
  return ran.length
}

async function finish(ctx: Ctx): Promise<Advanced> {
  return inTurn(ctx, async (tx, { now }) => {
    const projectId = projectIdOf(tx)
    const [deleted] = await tx.sql(workflowToRemove, { projectId })
    if (deleted) {
      const [row] = await tx.sql(removeWorkflow, { projectId, id: deleted.id, limit: REMOVED })
      if (!row?.left) {
        await tx.db.workflow.delete({ where: { projectId_id: { projectId, id: deleted.id } } })
        await tx.sql(removeCounts, { projectId, id: deleted.id })
      }
      return { left: true, afterMs: null }
    }
    if (await runSchedule(tx, now)) return { left: true, afterMs: null }
    const [next] = await tx.sql(nextDue, { projectId, now })
    return { left: false, afterMs: next?.afterMs ?? null }
  })
}
