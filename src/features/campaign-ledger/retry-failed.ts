import type { Ctx } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { PRIORITIES } from '../../queue/define-work.ts'
import { type Campaign, getCampaign, lockedCampaign } from '../campaigns/campaigns.ts'
import { workNow } from '../campaigns/run-campaign.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { retryRecipients } from './ledger.sql.ts'

const RETRIED = 1_000
const FIRST_ID = earliestId(new Date(0))

/** Has messages that were given up be tried again, with all attempts before them. Returns how many. */
export async function retryFailed(ctx: Ctx, id: string): Promise<{ campaign: Campaign; retried: number }> {
  let retried = 0
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const from: string = after
    const found = await ctx.atomically((tx) => retrySome(tx, id, from))
    retried += found.length
    after = found.length === RETRIED ? found.at(-1) : undefined
  }
  ctx.requestWork(mailDeliveryWork, PRIORITIES.campaign)
  return { campaign: await getCampaign(ctx, id), retried }
}

async function retrySome(tx: Ctx, id: string, after: string): Promise<string[]> {
  const { projectId } = await lockedCampaign(tx, id, 'retryFailed')
  await tx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: { status: 'SENDING', sentAt: null, updatedAt: tx.now() },
  })
  const clockShift = tx.services.clockShift()
  const range = { projectId, campaignId: id, after, limit: RETRIED }
  const rows = await tx.sql(retryRecipients, { ...range, now: tx.now(), clockShift })
  await workNow(tx, { projectId, id })
  return rows.map(({ contactId }) => contactId)
}
