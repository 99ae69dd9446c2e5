import { rangeEnd } from '../../audience/scan.sql.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { decide, testLimits } from '../campaign-variants/ab-tests.ts'
import { conditionOf } from '../campaigns/audience.ts'
import { type CampaignState, getCampaignState } from '../campaigns/find-campaign.ts'
import { forgetZoneTimes } from '../campaigns/local-times.ts'
import { begin } from '../campaigns/run-campaign.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import {
  freezeRange,
  nextTurn,
  releaseDue,
  releaseRecipients,
  shrinkSteps,
  type Turns,
} from './ledger.sql.ts'
import { cancelRecipients, holdDeliveries, nextDelivery, removeRecipients } from './recall.sql.ts'

/** Messages of a campaign that are in the delivery queue at most: it can be stopped at once. */
const MAX_QUEUED = 10_000
/** Recipients that one statement puts into the queue, takes out of it or removes. */
const CHUNK = 1_000
/** Contacts that one statement looks at for the ledger: fewer after a time-out, more again when it is quick. */
const MAX_STEP = 5_000
const MIN_STEP = 50
const QUICK_MS = 300
const SLOW_MS = 1_000

/**
 * A campaign with a full queue is looked at again after FULL_MS; one that waits for its last messages when they are due,
 * within these bounds.
 */
const FULL_MS = 200
const WAITING_MS = 1_000
const LONGEST_WAIT_MS = 30_000
/** Until a campaign that the project's cap holds up looks again: the cap may be raised, or a new month have begun. */
const CAPPED_MS = 30_000

const FIRST_ID = earliestId(new Date(0))

/** `afterMs` is when there is more to do; null: nothing is left. `isComplete`: every recipient is in a final state. */
type Step = { afterMs: number | null; isComplete?: boolean }

/** Does a part of what a campaign, which is locked, needs next. */
export async function nextStep(tx: Ctx, { id, deleted }: { id: string; deleted: boolean }): Promise<Step> {
  if (deleted) return remove(tx, id)
  const campaign = await getCampaignState(tx, id)
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

/** The ledger grows and messages are queued in turns, so that the first ones do not wait for the last contact. */
async function send(tx: Ctx, campaign: CampaignState): Promise<Step> {
  const { isFrozen, pendingCount, sendingCount } = campaign
  const room = MAX_QUEUED - sendingCount
  const wanted = Math.min(CHUNK, pendingCount)
  // A few at a time would cost as much as many.
  if (wanted > 0 && room >= wanted && (isFrozen || wanted === CHUNK)) {
    const taken = await release(tx, campaign, wanted)
    if (taken === 'capped' && isFrozen) return { afterMs: CAPPED_MS }
    if (taken !== 'capped' && taken > 0) return { afterMs: 0 }
    if (isFrozen) return { afterMs: await waitForTurns(tx, campaign) }
  }
  if (!isFrozen) {
    await freeze(tx, campaign)
    return { afterMs: 0 }
  }
  if (pendingCount > 0) return { afterMs: FULL_MS }
  return { afterMs: await waitForLast(tx, campaign), isComplete: sendingCount === 0 }
}

/** How the recipients take turns. */
const turnsOf = ({ testPercent, localTime }: CampaignState): Turns =>
  testPercent !== null ? 'test' : localTime !== null ? 'zones' : 'plain'

/** Milliseconds until recipients may have their turn who wait for the winner of an A/B test, or for a time. */
async function waitForTurns(tx: Ctx, campaign: CampaignState): Promise<number> {
  const { projectId, id, testPercent, winner } = campaign
  if (testPercent !== null && winner === null) return decide(tx, campaign)
  const clockShift = tx.services.clockShift()
  const [next] = await tx.sql(nextTurn, { projectId, campaignId: id, clockShift })
  return Math.max(0, next?.afterMs ?? FULL_MS)
}

/** Milliseconds until the messages that are still queued, or being handed over, may have changed. */
async function waitForLast(tx: Ctx, { projectId, id }: CampaignState): Promise<number> {
  const clockShift = tx.services.clockShift()
  const [row] = await tx.sql(nextDelivery, { projectId, campaignId: id, clockShift })
  return Math.min(LONGEST_WAIT_MS, Math.max(WAITING_MS, row?.afterMs ?? 0))
}

/** Writes the next contacts of the audience into the ledger. */
async function freeze(tx: Ctx, campaign: CampaignState): Promise<void> {
  const { projectId, id, type, audience, startedAt, upTo, frozenTo, stepSize } = campaign
  if (upTo === null || startedAt === null) throw new Error(`Campaign ${id} has not begun`)
  const began = performance.now()
  const after = frozenTo ?? FIRST_ID
  const [end] = await tx.sql(rangeEnd, { projectId, after, until: upTo, offset: stepSize - 1 })
  const until = end?.id ?? upTo
  const condition = conditionOf(audience, startedAt)
  const range = { projectId, campaignId: id, type, after, until }
  const limits = await testLimits(tx, campaign)
  await tx.sql(freezeRange(condition, turnsOf(campaign)), {
    ...range,
    ...(limits && { limits, startedAt }),
    ...condition.params,
  })
  const isFrozen = until >= upTo
  if (isFrozen) await forgetZoneTimes(tx, campaign)
  const tookMs = performance.now() - began
  await tx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: {
      frozenTo: until,
      isFrozen,
      ...(tookMs < QUICK_MS && { stepSize: Math.min(MAX_STEP, stepSize * 2) }),
      // Who stops the campaign waits for the end of a step.
      ...(tookMs > SLOW_MS && { stepSize: Math.max(MIN_STEP, Math.floor(stepSize / 2)) }),
    },
  })
}

/**
 * Queues the messages of recipients whose turn it is, as many as the project's cap leaves room for; returns how many
 * recipients were looked at, or that there is no room.
 */
async function release(tx: Ctx, campaign: CampaignState, limit: number): Promise<number | 'capped'> {
  const { projectId, id: campaignId, type } = campaign
  const { mailPermits } = tx.services
  const now = tx.now()
  const room = mailPermits ? await mailPermits.takeSome(projectId, 'CAMPAIGNS', limit, now) : limit
  if (room === 0) return 'capped'
  const { billed, free } = turnsOf(campaign) === 'plain' ? releaseRecipients : releaseDue
  let made = 0
  try {
    const [done] = await tx.sql(mailPermits ? billed : free, {
      ...{ projectId, campaignId, type, limit: room },
      priority: PRIORITIES.campaign,
      now,
      clockShift: tx.services.clockShift(),
    })
    made = done?.made ?? 0
    if (done && done.released > 0) tx.requestWork(mailDeliveryWork, PRIORITIES.campaign, 'left')
    return done?.taken ?? 0
  } finally {
    await mailPermits?.giveBack(projectId, 'CAMPAIGNS', room - made, now)
  }
}

/** Takes queued messages back. What is being handed over at this moment is looked at again until it is settled. */
async function hold(tx: Ctx, campaign: CampaignState): Promise<Step> {
  const { projectId, id, sendingCount } = campaign
  const [held] = await tx.sql(holdDeliveries, { projectId, campaignId: id, limit: CHUNK })
  if (held && held.count > 0) return { afterMs: 0 }
  return { afterMs: sendingCount > 0 ? await waitForLast(tx, campaign) : null }
}

async function cancel(tx: Ctx, campaign: CampaignState): Promise<Step> {
  const { projectId, id, sendingCount } = campaign
  const [stopped] = await tx.sql(cancelRecipients, { projectId, campaignId: id, limit: CHUNK, now: tx.now() })
  if (stopped && stopped.count > 0) return { afterMs: 0 }
  return { afterMs: sendingCount > 0 ? await waitForLast(tx, campaign) : null }
}

/** Removes the ledger of a campaign that is deleted, and then the campaign. It may have been cancelled a moment before. */
async function remove(tx: Ctx, id: string): Promise<Step> {
  const projectId = projectIdOf(tx)
  const [stopped] = await tx.sql(cancelRecipients, { projectId, campaignId: id, limit: CHUNK, now: tx.now() })
  if (stopped && stopped.count > 0) return { afterMs: 0 }
  const [removed] = await tx.sql(removeRecipients, { projectId, campaignId: id, limit: CHUNK })
  if (removed && removed.count === CHUNK) return { afterMs: 0 }
  await tx.db.campaign.delete({ where: { projectId_id: { projectId, id } } })
  return { afterMs: null }
}

/** The next statement for the ledger looks at an eighth of the contacts. */
export async function makeSmaller(ctx: Ctx, id: string): Promise<void> {
  ctx.log.warn({ campaignId: id }, 'a step of a campaign took too long; the next one is smaller')
  await ctx.sql(shrinkSteps, { projectId: projectIdOf(ctx), id, least: MIN_STEP })
}
