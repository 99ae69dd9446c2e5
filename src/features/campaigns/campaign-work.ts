import type { Ctx } from '../../ctx.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { workAt } from './campaigns.sql.ts'

/** A campaign of the project has something to do: it starts, goes on, is stopped, counted or removed. */
export const campaignWork = workKind('campaigns.advance')

type CampaignKey = { projectId: string; id: string }

/** Has a campaign be worked on at a time, or after some milliseconds; null: no more. */
export async function workOn(
  ctx: Ctx,
  { projectId, id }: CampaignKey,
  when: { at: Date } | { afterMs: number | null },
): Promise<void> {
  const clockShift = ctx.services.clockShift()
  await ctx.sql(workAt, { projectId, id, at: null, afterMs: null, ...when, clockShift })
}

/** Has a worker look at a campaign after the commit. */
export async function workNow(tx: Ctx, campaign: CampaignKey): Promise<void> {
  await workOn(tx, campaign, { afterMs: 0 })
  tx.requestWork(campaignWork, PRIORITIES.campaign)
}
