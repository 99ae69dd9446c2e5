import { loadSubject } from '../../audience/load.ts'
import { type Explanation, explainTree } from '../../audience/match.rules.ts'
import { takeSearch } from '../../audience/take-search.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Email, Event, Suppression } from '../../generated/prisma/client.ts'
import type { RecipientStatus } from '../../generated/prisma/enums.ts'
import { isId } from '../../lib/ids.ts'
import { audienceFrom, resolveAudience } from '../campaigns/audience.ts'
import { type CampaignState, getCampaignState } from '../campaigns/find-campaign.ts'
import { contactNotFound } from '../contacts/contacts.ts'
import { answerOf } from './explain-delivery.rules.ts'
import { queueOf, recipientOf } from './recall.sql.ts'

const MAX_EVENTS = 100

export type DeliveryExplanation = {
  answer: string
  status: RecipientStatus | null
  variant: number | null
  turnAt: Date | null
  isInAudience: boolean | null
  audience: Explanation | null
  subscribed: boolean | null
  suppression: Suppression | null
  isThrottled: boolean
  nextAttemptAt: Date | null
  email: Email | null
  events: Event[]
}

/** Why a contact has the message of a campaign or not. Throws CONTACT_NOT_FOUND for one that the campaign never had either. */
export async function explainDelivery(
  ctx: Ctx,
  { campaignId, contactId: given }: { campaignId: string; contactId: string },
): Promise<DeliveryExplanation> {
  const projectId = projectIdOf(ctx)
  const campaign = await getCampaignState(ctx, campaignId)
  if (!isId(given)) throw notFound('The contact')
  const contactId = given.toLowerCase()
  const [listed] = await ctx.sql(recipientOf, { projectId, campaignId: campaign.id, contactId })
  const contact = await contactFacts(ctx, campaign, contactId)
  if (!contact && !listed) throw contactNotFound()
  const emailId = listed?.emailId ?? null
  const email =
    emailId && (await ctx.db.email.findUnique({ where: { projectId_id: { projectId, id: emailId } } }))
  const [queue] = emailId
    ? await ctx.sql(queueOf, {
        projectId,
        emailId,
        defaultRate: ctx.config.sendRatePerSecond,
        clockShift: ctx.services.clockShift(),
      })
    : []
  const { nextAttemptAt = null, isThrottled = false } = queue ?? {}
  const isPutOff = nextAttemptAt !== null && nextAttemptAt > ctx.now()
  const status = listed?.status ?? null
  const error = email ? email.error : null
  const { status: state, paused, type, localTime } = campaign
  const turnAt = localTime === null ? null : (listed?.dueAt ?? null)
  const waitsForWinner = listed?.waitsForWinner ?? false
  return {
    answer: answerOf({
      campaign: { status: state, paused, isMarketing: type !== 'TRANSACTIONAL' },
      ...{ status, contact, error, nextAttemptAt, isPutOff, isThrottled, turnAt, waitsForWinner },
    }),
    ...{ status, nextAttemptAt, isThrottled, turnAt },
    variant: listed?.variant ?? null,
    isInAudience: contact?.isInAudience ?? null,
    audience: contact?.explanation ?? null,
    subscribed: contact?.subscribed ?? null,
    suppression: contact?.suppression ?? null,
    email: email || null,
    events: emailId ? await eventsOf(ctx, contactId, emailId) : [],
  }
}

/** The contact as it is at this moment, and whether the audience as of the start has it; null when it is deleted. */
async function contactFacts(ctx: Ctx, campaign: CampaignState, id: string) {
  const projectId = projectIdOf(ctx)
  const { startedAt, upTo } = campaign
  const audience = startedAt ? audienceFrom(campaign.audience) : await resolveAudience(ctx, campaign)
  const everybody = { tree: { logic: 'AND' as const, groups: [] }, segments: new Map() }
  const subject = await loadSubject(ctx, id, audience ?? everybody)
  if (!subject) return null
  if (audience) await takeSearch(ctx, audience, subject)
  const explanation = audience && explainTree(audience, subject, startedAt ?? ctx.now())
  const { email, subscribed } = subject.contact
  const suppression = await ctx.db.suppression.findUnique({
    where: { projectId_email: { projectId, email } },
  })
  return {
    ...{ subscribed, suppression, explanation },
    isSuppressed: suppression !== null,
    isInAudience: explanation?.matches ?? true,
    isNew: startedAt !== null && (upTo === null || id > upTo),
  }
}

/** What happened to the message, the oldest first. */
const eventsOf = (ctx: Ctx, contactId: string, emailId: string): Promise<Event[]> =>
  ctx.db.event.findMany({
    where: { projectId: projectIdOf(ctx), contactId, emailId },
    orderBy: { id: 'asc' },
    take: MAX_EVENTS,
  })
