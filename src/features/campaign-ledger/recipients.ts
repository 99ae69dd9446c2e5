import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { RecipientStatus } from '../../generated/prisma/enums.ts'
import { isId } from '../../lib/ids.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import { getCampaignState } from '../campaigns/find-campaign.ts'

export type Recipient = {
  projectId: string
  campaignId: string
  contactId: string
  status: RecipientStatus
  variant: number | null
  emailId: string | null
}

export type RecipientsRequest = {
  campaignId: string
  status?: RecipientStatus | null | undefined
  limit?: number | null | undefined
  cursor?: string | null | undefined
}

/** In the order of the ledger, which is that of the contacts' ids. */
const ORDER = 'contactId asc'

/** A page of the ledger of a campaign, of all recipients or of those in a state. */
export async function listRecipients(
  ctx: Ctx,
  { campaignId, status, limit: asked, cursor }: RecipientsRequest,
): Promise<CursorPage<Recipient> & { countTotal: () => Promise<number> }> {
  const { id } = await getCampaignState(ctx, campaignId)
  const limit = pageLimit(asked)
  const after = cursor ? keyOfCursor(cursor, ORDER, isId) : null
  const where = { projectId: projectIdOf(ctx), campaignId: id, ...(status && { status }) }
  const rows = await ctx.db.campaignRecipient.findMany({
    where: { ...where, ...(after !== null && { contactId: { gt: after } }) },
    orderBy: { contactId: 'asc' },
    take: limit + 1,
    omit: { unsubscribedAt: true, dueAt: true },
  })
  const countTotal = async () => (after === null ? ctx.db.campaignRecipient.count({ where }) : 0)
  return { ...pageFrom(rows, limit, (last) => cursorAfter(ORDER, last.contactId)), countTotal }
}
