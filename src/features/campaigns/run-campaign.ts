import { keepInterests, lockInterests } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isTimeOut } from '../../db/sql.ts'
import { badRequest, fieldError } from '../../errors.ts'
import { isId } from '../../lib/ids.ts'
import { newestContactId } from '../contacts/contacts.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { conditionOf, resolveAudience, storedAudience } from './audience.ts'
import { workNow, workOn } from './campaign-work.ts'
import type { SendCampaignInput } from './campaigns.input.ts'
import { isAllowed } from './campaigns.rules.ts'
import { anybodyReceives } from './campaigns.sql.ts'
import {
  assertAllowed,
  type Campaign,
  type CampaignState,
  getCampaign,
  getCampaignState,
  holdCampaign,
  lockedCampaign,
} from './find-campaign.ts'
import { keepZoneTimes } from './local-times.ts'

/** Sends a campaign at once, or at the time that is given; `message` says which. */
export async function sendCampaign(
  ctx: Ctx,
  id: string,
  { scheduledFor }: SendCampaignInput,
): Promise<{ campaign: CampaignState; message: string }> {
  if (!isId(id)) throw fieldError('id', 'invalid_string', 'must be a UUID')
  const known = await getCampaignState(ctx, id)
  await assertSenderVerified(ctx, known.from)
  if (scheduledFor !== undefined) {
    const time = readTime(scheduledFor, ctx.now())
    const campaign = await scheduleCampaign(ctx, id, time)
    return { campaign, message: `The campaign will be sent at ${time.toISOString()}.` }
  }
  assertAllowed('send', known)
  await assertReceivers(ctx, known)
  await assertRoom(ctx)
  const campaign = await ctx.atomically(async (tx) => {
    const locked = await lockedCampaign(tx, id, 'send')
    await tx.db.campaign.update({
      where: { projectId_id: { projectId: locked.projectId, id } },
      data: { scheduledFor: null, ...NOT_LOCAL },
    })
    await begin(tx, { ...locked, ...NOT_LOCAL })
    return getCampaignState(tx, id)
  })
  return { campaign, message: 'The campaign is being sent.' }
}

/** Refuses to start a campaign that would send nothing this month. Throws BILLING_LIMIT_EXCEEDED. */
async function assertRoom(ctx: Ctx): Promise<void> {
  const permit = [projectIdOf(ctx), 'CAMPAIGNS', 1, ctx.now()] as const
  await ctx.services.mailPermits?.take(...permit)
  await ctx.services.mailPermits?.giveBack(...permit)
}

/** All recipients get it at the same time. */
const NOT_LOCAL = { localTime: null, timeZone: null }

/** No time is later: the year has four digits. */
const LATEST = Date.UTC(9999, 11, 31)

/** As the Date of JavaScript reads it. Throws BAD_REQUEST for what is no time, or is over. */
function readTime(text: string, now: Date): Date {
  const time = new Date(text)
  if (text.trim() === '' || Number.isNaN(time.getTime()) || time.getTime() > LATEST) {
    throw badRequest('scheduledFor is not a time; use ISO 8601, such as 2030-05-01T08:00:00Z.')
  }
  if (time <= now) throw badRequest('scheduledFor is over; leave it out to send the campaign at once.')
  return time
}

async function scheduleCampaign(ctx: Ctx, id: string, time: Date): Promise<CampaignState> {
  return ctx.atomically(async (tx) => {
    const { projectId } = await lockedCampaign(tx, id, 'schedule')
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id } },
      data: {
        status: 'SCHEDULED',
        scheduledFor: time,
        scheduledAt: tx.now(),
        ...NOT_LOCAL,
        updatedAt: tx.now(),
      },
    })
    await workOn(tx, { projectId, id }, { at: time })
    return getCampaignState(tx, id)
  })
}

/** Refuses a campaign that nobody would get. Where finding that out takes too long, somebody will. */
async function assertReceivers(ctx: Ctx, campaign: CampaignState): Promise<void> {
  const { type } = campaign
  const audience = await resolveAudience(ctx, campaign)
  const condition = conditionOf(audience && storedAudience(audience), ctx.now())
  const params = { projectId: projectIdOf(ctx), type, ...condition.params }
  const [row] = await ctx.sql(anybodyReceives(condition), params).catch((error: unknown) => {
    if (isTimeOut(error)) return [{ anybody: true }]
    throw error
  })
  if (row?.anybody) return
  throw badRequest(
    type === 'TRANSACTIONAL'
      ? 'Nobody would get this campaign: its audience is empty.'
      : 'Nobody would get this campaign: nobody in its audience is subscribed. previewAudience says who is in it.',
  )
}

/** Starts the sending: from here on content and audience stay as they are at this instant. The campaign is locked. */
export async function begin(tx: Ctx, campaign: CampaignState): Promise<void> {
  const { projectId, id } = campaign
  const audience = await resolveAudience(tx, campaign)
  const upTo = await newestContactId(tx)
  await tx.db.campaign.update({
    where: { projectId_id: { projectId, id } },
    data: {
      status: 'SENDING',
      startedAt: tx.now(),
      ...(audience && { audience: storedAudience(audience) }),
      upTo,
      isFrozen: upTo === null,
      updatedAt: tx.now(),
    },
  })
  if (upTo !== null) await keepZoneTimes(tx, campaign)
  await workNow(tx, { projectId, id })
}

/**
 * Stops a campaign for good: what has not been handed over never is. A worker takes back what waits in the queue
 * (`cancelRecipients`); what another worker has taken is refused at the hand-over (`stoppedWith` of delivery).
 */
export async function cancelCampaign(ctx: Ctx, id: string): Promise<Campaign> {
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const { projectId } = await lockedCampaign(tx, id, 'cancel')
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id } },
      data: { status: 'CANCELLED', paused: false, updatedAt: tx.now() },
    })
    await keepInterests(tx, { consumer: 'CAMPAIGN', id }, [])
    await workNow(tx, { projectId, id })
    return getCampaign(tx, id)
  })
}

/** Stops a campaign until it is resumed, or has it go on. */
export async function pauseCampaign(ctx: Ctx, id: string, paused: boolean): Promise<Campaign> {
  return ctx.atomically(async (tx) => {
    const { projectId } = await lockedCampaign(tx, id, paused ? 'pause' : 'resume')
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id } },
      // The time of an A/B test begins anew: while the campaign is paused its messages do not leave.
      data: { paused, decideAt: null, updatedAt: tx.now() },
    })
    await workNow(tx, { projectId, id })
    return getCampaign(tx, id)
  })
}

/** Ends a campaign when every recipient is in a final state. */
export async function finishCampaign(ctx: Ctx, id: string): Promise<void> {
  await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    if ((await holdCampaign(tx, id)) !== 'kept') return
    const { projectId, status, paused, isFrozen, pendingCount, sendingCount } = await getCampaignState(tx, id)
    // It may have been cancelled, paused or finished since.
    if (!isAllowed('finish', status) || paused || !isFrozen || pendingCount + sendingCount > 0) return
    const now = tx.now()
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id } },
      data: { status: 'SENT', sentAt: now, updatedAt: now, nextAt: null },
    })
    await keepInterests(tx, { consumer: 'CAMPAIGN', id }, [])
  })
}
