import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest, conflict, fieldError } from '../../errors.ts'
import { isId } from '../../lib/ids.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { workOn } from './campaign-work.ts'
import type { LocalScheduleInput } from './campaigns.input.ts'
import { type CampaignState, getCampaignState, lockedCampaign } from './find-campaign.ts'
import { removeZoneTimes, spanOfLocalTime, storeZoneTimes } from './local-times.sql.ts'

/** For contacts whose time zone is not known, unless a request names another one. */
const USUAL_ZONE = 'UTC'

/** `2030-05-01T08:00` and, if need be, seconds. */
const WALL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

/** A wall time as Date would read it in UTC. Throws VALIDATION_ERROR for what is no time of any day. */
function readWallTime(text: string): Date {
  const time = new Date(`${text}Z`)
  const isReal = WALL_TIME.test(text) && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text)
  if (isReal) return time
  throw fieldError(
    'localTime',
    'invalid_date',
    'must be a time without a time zone, such as 2030-05-01T08:00',
  )
}

/**
 * Schedules a campaign for a wall time in the time zones of its recipients. It begins when that time comes first anywhere;
 * recipients for whom it is over by then get it at once. Throws BAD_REQUEST when it is over everywhere.
 */
export async function scheduleLocally(
  ctx: Ctx,
  id: string,
  { localTime: text, timeZone = USUAL_ZONE }: LocalScheduleInput,
): Promise<{ campaign: CampaignState; message: string }> {
  if (!isId(id)) throw fieldError('id', 'invalid_string', 'must be a UUID')
  const localTime = readWallTime(text)
  const known = await getCampaignState(ctx, id)
  await assertSenderVerified(ctx, known.from)
  const clockShift = ctx.services.clockShift()
  const [span] = await ctx.sql(spanOfLocalTime, { localTime: text, timeZone, clockShift })
  if (!span?.own) {
    throw fieldError('timeZone', 'custom', 'must be the name of a time zone, such as Europe/Berlin')
  }
  if (span.isOver)
    throw badRequest('localTime is over in all time zones; sendCampaign sends the campaign at once.')
  const { first, own } = span
  const campaign = await ctx.atomically(async (tx) => {
    const { projectId, testPercent } = await lockedCampaign(tx, id, 'schedule')
    if (testPercent !== null) {
      throw conflict('A campaign with an A/B test cannot be sent in the time zones of its recipients.')
    }
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id } },
      data: {
        status: 'SCHEDULED',
        scheduledFor: own,
        scheduledAt: tx.now(),
        localTime,
        timeZone,
        updatedAt: tx.now(),
      },
      select: { id: true },
    })
    await workOn(tx, { projectId, id }, { at: first })
    return getCampaignState(tx, id)
  })
  return { campaign, message: `The campaign will be sent at ${text} in the time zone of each recipient.` }
}

/** Writes down when the wall time of a campaign, which begins, is in every time zone. */
export async function keepZoneTimes(tx: Ctx, { id, localTime }: CampaignState): Promise<void> {
  if (localTime !== null) await tx.sql(storeZoneTimes, { projectId: projectIdOf(tx), id })
}

/** The ledger of a campaign is complete. */
export async function forgetZoneTimes(tx: Ctx, { id, localTime }: CampaignState): Promise<void> {
  if (localTime !== null) await tx.sql(removeZoneTimes, { projectId: projectIdOf(tx), id })
}
