import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, notFound } from '../../errors.ts'
import type { Campaign as CampaignRow } from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import type { CampaignCounts } from '../../messages/campaign-counts.rules.ts'
import { type CampaignAction, obstacleTo } from './campaigns.rules.ts'
import { campaignCounts, lockCampaign } from './campaigns.sql.ts'

/** A campaign with its counters as they are at this moment. */
export type Campaign = Omit<CampaignRow, 'zoneTimes'> & CampaignCounts

/** The same without what it says, which may be long. */
export type CampaignState = Omit<Campaign, 'body'>

export const campaignNotFound = () => notFound('The campaign', 'CAMPAIGN_NOT_FOUND')

/** The counters of campaigns with their rows, in the order of the rows. */
async function withCounts<Row extends { id: string }>(
  ctx: Ctx,
  ids: string[],
  rows: PromiseLike<Row[]>,
): Promise<(Row & CampaignCounts)[]> {
  const [found, counts] = await Promise.all([
    rows,
    ctx.sql(campaignCounts, { projectId: projectIdOf(ctx), ids }),
  ])
  const countsOf = new Map(counts.map((one) => [one.id, one]))
  return found.flatMap((row) => {
    const numbers = countsOf.get(row.id)
    return numbers ? [{ ...row, ...numbers }] : []
  })
}

const kept = (ctx: Ctx, ids: string[]) => ({ projectId: projectIdOf(ctx), id: { in: ids }, deleted: false })

/** Campaigns by their ids, in any order. */
export const readCampaigns = (ctx: Ctx, ids: string[]): Promise<Campaign[]> =>
  withCounts(ctx, ids, ctx.db.campaign.findMany({ where: kept(ctx, ids), omit: { zoneTimes: true } }))

const readStates = (ctx: Ctx, ids: string[]): Promise<CampaignState[]> =>
  withCounts(
    ctx,
    ids,
    ctx.db.campaign.findMany({ where: kept(ctx, ids), omit: { zoneTimes: true, body: true } }),
  )

async function found<Kind>(id: string, read: (ids: string[]) => Promise<Kind[]>): Promise<Kind> {
  if (!isId(id)) throw notFound('The campaign')
  const [campaign] = await read([id.toLowerCase()])
  if (!campaign) throw campaignNotFound()
  return campaign
}

/** A campaign of the project. Throws CAMPAIGN_NOT_FOUND. */
export const getCampaign = (ctx: Ctx, id: string): Promise<Campaign> =>
  found(id, (ids) => readCampaigns(ctx, ids))

/** A campaign of the project without what it says. Throws CAMPAIGN_NOT_FOUND. */
export const getCampaignState = (ctx: Ctx, id: string): Promise<CampaignState> =>
  found(id, (ids) => readStates(ctx, ids))

/** Locks a campaign until the commit, also one that is deleted and whose ledger is being removed. */
export async function holdCampaign(tx: Ctx, id: string): Promise<'kept' | 'deleted' | 'gone'> {
  const [row] = await tx.sql(lockCampaign, { projectId: projectIdOf(tx), id })
  if (!row) return 'gone'
  return row.deleted ? 'deleted' : 'kept'
}

/** Locks a campaign until the commit and returns it. Throws CONFLICT when the action is not allowed in its state. */
export async function lockedCampaign(tx: Ctx, id: string, action: CampaignAction): Promise<CampaignState> {
  if (!isId(id)) throw notFound('The campaign')
  if ((await holdCampaign(tx, id)) !== 'kept') throw campaignNotFound()
  const campaign = await getCampaignState(tx, id)
  assertAllowed(action, campaign)
  return campaign
}

/** Throws CONFLICT when the action is not allowed in the state of the campaign. */
export function assertAllowed(action: CampaignAction, { status }: Pick<Campaign, 'status'>): void {
  const obstacle = obstacleTo(action, status)
  if (obstacle) throw conflict(obstacle)
}
