import { rangeEnd } from '../../audience/scan.sql.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { PRIORITIES } from '../../queue/define-work.ts'
import { conditionOf } from '../campaigns/audience.ts'
import { type Campaign, getCampaign } from '../campaigns/campaigns.ts'
import { begin } from '../campaigns/run-campaign.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import {
  cancelRecipients,
  freezeRange,
  holdDeliveries,
  releaseRecipients,
  removeRecipients,
} from './ledger.sql.ts'

/** Messages of a campaign that are in the delivery queue at most: it can be stopped at once. */
const MAX_QUEUED = 10_000
/** Recipients that one statement puts into the queue, takes out of it or removes. */
const CHUNK = 1_000
/** Contacts that one statement looks at for the ledger: fewer after a time-out, more again when it is quick. */
const MAX_STEP = 5_000
const MIN_STEP = 50
const QUICK_MS = 300

/** Until a campaign is looked at again whose queue is full, or which waits for its last messages. */
const FULL_MS = 200
const WAITING_MS = 1_000

const FIRST_ID = earliestId(new Date(0))

/** `afterMs` is when there is more to do; null: nothing is left. `isComplete`: every recipient is in a final state. */
type Step = { afterMs: number | null; isComplete?: boolean }

/** Does a part of what a campaign, which is locked, needs next. */
export async function nextStep(tx: Ctx, id: string): Promise<Step> {
  const where = { projectId_id: { projectId: projectIdOf(tx), id } }
  const { deleted } = await tx.db.campaign.findUniqueOrThrow({ where, select: { deleted: true } })
  if (deleted) return remove(tx, id)
  const campaign = await getCampaign(tx, id)
  switch (campaign.status) {
    case 'SCHEDULED':
      await begin(tx, campaign)
      return { afterMs: 0 }
    case 'SENDING':
      return campaign.paused ? hold(tx, campaign) : send(tx, campaign)
    case 'CANCELLED':
      return cancel(tx, campaign)
    case 'DRAFT':
    case 'SENT':
      return { afterMs: null }
  }
}

/** The ledger grows and messages are queued side by side, so that the first ones do not wait for the last contact. */
async function send(tx: Ctx, campaign: Campaign): Promise<Step> {
  const { isFrozen, pendingCount, sendingCount } = campaign
  if (!isFrozen) await freeze(tx, campaign)
  const room = MAX_QUEUED - sendingCount
  const isAnyLeft = !isFrozen || pendingCount > 0
  if (isAnyLeft && room > 0) {
    await release(tx, campaign, Math.min(CHUNK, room))
    return { afterMs: 0 }
  }
  if (isAnyLeft) return { afterMs: isFrozen ? FULL_MS : 0 }
  return { afterMs: WAITING_MS, isComplete: sendingCount === 0 }
}

/** Writes the next contacts of the audience into the ledger. */
async function freeze(tx: Ctx, campaign: Campaign): Promise<void> {
  const { projectId, id, type, audience, startedAt, upTo, frozenTo, stepSize } = campaign
  if (upTo === null || startedAt === null) throw new Error(`Campaign ${id} has not begun`)
  const began = performance.now()
  const after = frozenTo ?? FIRST_ID
  const [end] = await tx.sql(rangeEnd, { projectId, after, until: upTo, offset: stepSize - 1 })
  const until = end?.id ?? upTo
  const condition = conditionOf(audience, startedAt)
  const range = { projectId, campaignId: id, type, after, until }
  await tx.sql(freezeRange(condition), { ...range, ...condition.params })
  const isQuick = performance.now() - began < QUICK_MS
  await tx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: {
      frozenTo: until,
      isFrozen: until >= upTo,
      ...(isQuick && { stepSize: Math.min(MAX_STEP, stepSize * 2) }),
    },
  })
}

async function release(tx: Ctx, campaign: Campaign, limit: number): Promise<void> {
  const { projectId, id: campaignId, type, subject, body, from, fromName, replyTo } = campaign
  const [done] = await tx.sql(releaseRecipients, {
    ...{ projectId, campaignId, type, subject, from, fromName, replyTo, limit },
    size: Buffer.byteLength(body),
    priority: PRIORITIES.campaign,
    now: tx.now(),
    clockShift: tx.services.clockShift(),
  })
  if (done && done.released > 0) tx.requestWork(mailDeliveryWork, PRIORITIES.campaign)
}

/** Takes what is queued back; what is being handed over at this moment is looked at again until it is settled. */
async function hold(tx: Ctx, { projectId, id, sendingCount }: Campaign): Promise<Step> {
  const [held] = await tx.sql(holdDeliveries, { projectId, campaignId: id, limit: CHUNK })
  if (held && held.count === CHUNK) return { afterMs: 0 }
  return { afterMs: sendingCount > (held?.count ?? 0) ? WAITING_MS : null }
}

async function cancel(tx: Ctx, { projectId, id, sendingCount }: Campaign): Promise<Step> {
  const [stopped] = await tx.sql(cancelRecipients, { projectId, campaignId: id, limit: CHUNK, now: tx.now() })
  if (stopped && stopped.count > 0) return { afterMs: 0 }
  return { afterMs: sendingCount > 0 ? WAITING_MS : null }
}

/** Removes the ledger of a campaign that is deleted, and then the campaign. */
async function remove(tx: Ctx, id: string): Promise<Step> {
  const projectId = projectIdOf(tx)
  const [removed] = await tx.sql(removeRecipients, { projectId, campaignId: id, limit: CHUNK })
  if (removed && removed.count === CHUNK) return { afterMs: 0 }
  await tx.db.campaign.delete({ where: { projectId_id: { projectId, id } } })
  return { afterMs: null }
}

/** The next statement for the ledger looks at an eighth of the contacts. */
export async function makeSmaller(ctx: Ctx, id: string): Promise<void> {
  const { projectId, stepSize } = await getCampaign(ctx, id)
  ctx.log.warn({ campaignId: id, stepSize }, 'a step of a campaign took too long; the next one is smaller')
  await ctx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: { stepSize: Math.max(MIN_STEP, Math.floor(stepSize / 8)) },
  })
}
