import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError, fieldError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { cutText } from '../../lib/text/cut-text.ts'
import { MAX_SUBJECT } from '../../messages/subject.rules.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { contactNotFound } from '../contacts/contacts.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { campaignSources, contentKey } from '../emails/campaign-sources.ts'
import { compose } from '../emails/compose.ts'
import { messageIdOf } from '../emails/message-id.ts'
import { isMember, storeTest } from './campaigns.sql.ts'
import { type CampaignState, campaignNotFound, getCampaignState } from './find-campaign.ts'

export type CampaignTest = { emailId: string; email: string }

/** What a member of the project who is no contact is shown. */
const SAMPLE = { name: 'Ada Lovelace', firstName: 'Ada', lastName: 'Lovelace', plan: 'pro' }
const MARK = '[TEST] '

/**
 * Sends a campaign, in whatever state, to one address, rendered with the data of that contact. It is not counted, and goes
 * to contacts who are not subscribed, too. Throws FORBIDDEN for addresses of neither contacts nor members.
 */
export async function testCampaign(
  ctx: Ctx,
  id: string,
  address: string,
  variant: number | null = null,
): Promise<CampaignTest> {
  const projectId = projectIdOf(ctx)
  const campaign = await getCampaignState(ctx, id)
  await assertSenderVerified(ctx, campaign.from)
  const projectId_email = { projectId, email: address }
  const known = await ctx.db.contact.findUnique({ where: { projectId_email } })
  if (!known) await assertMember(ctx, address)
  const now = ctx.now()
  const [contactId, emailId] = [known?.id ?? newId(now), newId(now)]
  if (variant !== null) await assertVariant(ctx, campaign, variant)
  const content = { campaignId: campaign.id, variant }
  const source = (await campaignSources(ctx.sql, projectId, [content])).get(contentKey(content))
  if (!source) throw campaignNotFound()
  const composed = await compose(ctx, source, {
    ...{ projectId, contactId, emailId, email: address },
    subscribed: known?.subscribed ?? false,
    data: known ? dataOf(known.data) : SAMPLE,
  })
  const { from, fromName, replyTo } = campaign
  const erasureId = known ? null : newId(now)
  const [stored] = await ctx.sql(storeTest, {
    ...{ projectId, contactId, erasureId, emailId, from, fromName, replyTo, now },
    to: address,
    subject: cutText(MARK + composed.subject, MAX_SUBJECT),
    html: composed.html,
    headers: JSON.stringify(composed.headers),
    messageId: messageIdOf(emailId, from),
    priority: PRIORITIES.transactional,
    clockShift: ctx.services.clockShift(),
  })
  if (!stored) throw contactNotFound()
  ctx.requestWork(mailDeliveryWork, PRIORITIES.transactional)
  return { emailId, email: address }
}

async function assertVariant(
  ctx: Ctx,
  { projectId, id: campaignId }: CampaignState,
  number: number,
): Promise<void> {
  const found = await ctx.db.campaignVariant.count({ where: { projectId, campaignId, number } })
  if (found === 0) throw fieldError('variant', 'custom', 'is not the number of a variant of this campaign')
}

const dataOf = (data: unknown): JsonObject => (isJsonObject(data) ? data : {})

async function assertMember(ctx: Ctx, email: string): Promise<void> {
  const [row] = await ctx.sql(isMember, { projectId: projectIdOf(ctx), email })
  if (row?.member) return
  throw new AppError('FORBIDDEN', 'A test goes to contacts and members of the project only.', {
    suggestion: `Create a contact with the address ${email} first, or send the test to a member.`,
  })
}
