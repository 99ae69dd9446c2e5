import type { Ctx } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { workNow } from '../campaigns/campaign-work.ts'
import { type Campaign, getCampaign, lockedCampaign } from '../campaigns/find-campaign.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { retryRecipients } from './recall.sql.ts'

const RETRIED = 1_000
const FIRST_ID = earliestId(new Date(0))

/** Has messages that were given up be tried again, with all attempts before them. Returns how many. */
export async function retryFailed(ctx: Ctx, id: string): Promise<{ campaign: Campaign; retried: number }> {
  let retried = 0
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const from: string = after
    const found = await ctx.atomically((tx) => retrySome(tx, id, from))
    retried += found.filter(({ queued }) => queued).length
    after = found.length === RETRIED ? found.at(-1)?.contactId : undefined
  }
  if (retried > 0) ctx.requestWork(mailDeliveryWork, PRIORITIES.campaign, 'left')
  return { campaign: await getCampaign(ctx, id), retried }
}

async function retrySome(
  tx: Ctx,
  id: string,
  after: string,
): Promise<{ contactId: string; queued: boolean }[]> {
  const { projectId } = await lockedCampaign(tx, id, 'retryFailed')
  const clockShift = tx.services.clockShift()
  const range = { projectId, campaignId: id, after, limit: RETRIED }
  const found = await tx.sql(retryRecipients, { ...range, now: tx.now(), clockShift })
  if (!found.some(({ queued }) => queued)) return found
  await tx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: { status: 'SENDING', paused: false, sentAt: null, updatedAt: tx.now() },
  })
  await workNow(tx, { projectId, id })
  return found
}
