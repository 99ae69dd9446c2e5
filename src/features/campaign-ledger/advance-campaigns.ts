import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut, limitTime } from '../../db/sql.ts'
import type { SliceResult, Turn } from '../../queue/define-work.ts'
import { workOn } from '../campaigns/campaign-work.ts'
import { holdCampaign } from '../campaigns/find-campaign.ts'
import { finishCampaign } from '../campaigns/run-campaign.ts'
import { makeSmaller, nextStep } from './campaign-steps.ts'
import { foldTallies, nextCampaign, talliedCampaigns } from './ledger.sql.ts'

const STEP_TIMEOUT_MS = 5_000
/** Until a campaign is tried again whose step took too long, or failed otherwise. */
const TIMED_OUT_MS = 1_000
const FAILED_MS = 60_000
/** What is further away is left to the sweep: a waiting job would stand in the way of a nearer one. */
const NEAR_MS = 2_000
/** Campaigns whose tallies are folded in a turn, and tallies that one statement folds. */
const MAX_TALLIED = 100
const MAX_FOLDED = 1_000

/** Goes on with the campaigns of a project in turns, each a bounded part, as long as there is time. */
export async function advanceCampaigns(ctx: Ctx, turn: Turn): Promise<SliceResult> {
  await foldAll(ctx)
  while (turn.hasTime() && !turn.signal.aborted) {
    const waitMs = await advanceNext(ctx)
    if (waitMs === null) return 'done'
    if (waitMs > 0) return waitMs > NEAR_MS ? 'done' : { afterMs: waitMs }
  }
  return 'more'
}

/** Adds what is counted apart to the campaigns, so that reading them stays cheap. */
async function foldAll(ctx: Ctx): Promise<void> {
  const projectId = projectIdOf(ctx)
  for (const { id } of await ctx.sql(talliedCampaigns, { projectId, limit: MAX_TALLIED })) {
    await ctx.atomically(async (tx) => {
      await holdCampaign(tx, id)
      await tx.sql(foldTallies, { projectId, id, limit: MAX_FOLDED })
    })
  }
}

/** One campaign that cannot go on must not keep the others of its project from it. */
async function putOff(ctx: Ctx, id: string, error: unknown): Promise<void> {
  if (isTimeOut(error)) await makeSmaller(ctx, id)
  else ctx.log.error({ err: error, campaignId: id }, 'a campaign cannot go on at present; it is tried again')
  const afterMs = isTimeOut(error) ? TIMED_OUT_MS : FAILED_MS
  await workOn(ctx, { projectId: projectIdOf(ctx), id }, { afterMs })
}

/** Milliseconds until there is something to do, 0 after something was done, null when nothing is left. */
async function advanceNext(ctx: Ctx): Promise<number | null> {
  const [projectId, clockShift] = [projectIdOf(ctx), ctx.services.clockShift()]
  let taken: string | null = null
  try {
    const { waitMs, isComplete } = await ctx.atomically(async (tx) => {
      await tx.sql(limitTime, { milliseconds: String(STEP_TIMEOUT_MS) })
      const [next] = await tx.sql(nextCampaign, { projectId, clockShift })
      if (!next || next.afterMs > 0) return { waitMs: next ? next.afterMs : null, isComplete: false }
      taken = next.id
      const { afterMs, isComplete = false } = await nextStep(tx, next)
      await workOn(tx, { projectId, id: next.id }, { afterMs })
      return { waitMs: 0, isComplete }
    })
    if (isComplete && taken !== null) await finishCampaign(ctx, taken)
    return waitMs
  } catch (error) {
    if (taken === null || (isDatabaseUnavailable(error) && !isTimeOut(error))) throw error
    await putOff(ctx, taken, error)
    return 0
  }
}
