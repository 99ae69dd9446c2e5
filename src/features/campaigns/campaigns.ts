import { takeQuota } from '../../admission/quotas.ts'
import { interestsIn, keepInterests, lockInterests } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { CampaignStatus } from '../../generated/prisma/enums.ts'
import { newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { escapeLike } from '../../lib/like.ts'
import { copyName } from '../../lib/text/copy-name.ts'
import { withAsciiDomain } from '../../messages/email-address.rules.ts'
import { MAX_NAME } from '../../messages/message.input.ts'
import { readLarge } from '../../paging/large-list.ts'
import {
  type OffsetPage,
  type OrderRequest,
  type PageRequest,
  readOffsetPage,
  readOrder,
} from '../../paging/offset-page.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { assertSyntax } from '../templates/syntax.ts'
import { referencesOfAudience, resolveAudience } from './audience.ts'
import { workNow } from './campaign-work.ts'
import type { CampaignInput } from './campaigns.input.ts'
import { campaignSizes, copyVariants, replaceCampaign } from './campaigns.sql.ts'
import {
  assertAllowed,
  type Campaign,
  getCampaign,
  getCampaignState,
  lockedCampaign,
  readCampaigns,
} from './find-campaign.ts'

export type CampaignQuery = PageRequest &
  OrderRequest & { status?: CampaignStatus | null | undefined; search?: string | null | undefined }

/** One page of the campaigns of the project. `search` is looked for in name, subject and address of the sender. */
export async function listCampaigns(ctx: Ctx, query: CampaignQuery): Promise<OffsetPage<Campaign>> {
  const projectId = projectIdOf(ctx)
  const { field, direction } = readOrder(query, ['createdAt', 'name', 'updatedAt'])
  const contains = { contains: escapeLike(query.search ?? ''), mode: 'insensitive' as const }
  const where = {
    projectId,
    deleted: false,
    ...(query.status && { status: query.status }),
    ...(query.search && { OR: [{ name: contains }, { subject: contains }, { from: contains }] }),
  }
  return readOffsetPage(query, {
    find: async (range) => {
      const orderBy = [{ [field]: direction }, { id: direction }]
      const page = await ctx.db.campaign.findMany({ ...range, where, orderBy, select: { id: true } })
      const sizes = await ctx.sql(campaignSizes, { projectId, ids: page.map(({ id }) => id) })
      return readLarge(ctx, { records: sizes, read: (ids) => readCampaigns(ctx, ids) })
    },
    count: () => ctx.db.campaign.count({ where }),
  })
}

/** The columns that an input gives; what it leaves out is null. */
const columnsOf = (input: CampaignInput) => ({
  name: input.name,
  description: input.description ?? null,
  subject: input.subject,
  body: input.body,
  from: withAsciiDomain(input.from),
  fromName: input.fromName ?? null,
  replyTo: input.replyTo ?? null,
  type: input.type ?? ('MARKETING' as const),
  audienceType: input.audienceType,
  segmentId: input.audienceType === 'SEGMENT' ? (input.segmentId?.toLowerCase() ?? null) : null,
  audienceCondition: input.audienceType === 'FILTERED' ? (input.audienceCondition ?? null) : null,
})

type Columns = ReturnType<typeof columnsOf>

const conditionIn = ({ audienceCondition }: Campaign) =>
  isJsonObject(audienceCondition) ? audienceCondition : null

async function assertContent(ctx: Ctx, { subject, body, from }: CampaignInput): Promise<void> {
  await assertSyntax(ctx, 'subject', subject)
  await assertSyntax(ctx, 'body', body)
  await assertSenderVerified(ctx, from)
}

/** Keeps what the campaign needs from being deleted. The project's interests are locked. */
async function keepAudience(tx: Ctx, id: string, columns: Columns): Promise<void> {
  await resolveAudience(tx, columns)
  const interests = interestsIn(referencesOfAudience(columns))
  await keepInterests(tx, { consumer: 'CAMPAIGN', id }, interests)
}

async function insertCampaign(ctx: Ctx, columns: Columns): Promise<Campaign> {
  const now = ctx.now()
  const id = newId(now)
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    await takeQuota(tx, 'campaigns', { field: 'name' })
    await keepAudience(tx, id, columns)
    const times = { createdAt: now, updatedAt: now }
    const { audienceCondition, ...others } = columns
    await tx.db.campaign.create({
      data: {
        projectId: projectIdOf(tx),
        id,
        ...others,
        ...(audienceCondition && { audienceCondition }),
        ...times,
      },
    })
    return getCampaign(tx, id)
  })
}

/** Creates a draft. Throws SEGMENT_NOT_FOUND, DOMAIN_NOT_VERIFIED and VALIDATION_ERROR. */
export async function createCampaign(ctx: Ctx, input: CampaignInput): Promise<Campaign> {
  await assertContent(ctx, input)
  return insertCampaign(ctx, columnsOf(input))
}

/** A new draft with the content, the A/B test and the audience of a campaign. Its sender is checked when it is sent. */
export async function duplicateCampaign(ctx: Ctx, id: string): Promise<Campaign> {
  const campaign = await getCampaign(ctx, id)
  const { description, subject, body, from, fromName, replyTo, type, audienceType, segmentId } = campaign
  return ctx.atomically(async (tx) => {
    const copy = await insertCampaign(tx, {
      ...{
        name: copyName(campaign.name, MAX_NAME),
        description,
        subject,
        body,
        from,
        fromName,
        replyTo,
        type,
      },
      ...{ audienceType, segmentId, audienceCondition: conditionIn(campaign) },
    })
    await tx.sql(copyVariants, { projectId: copy.projectId, id: copy.id, copied: campaign.id })
    return copy
  })
}

/** Replaces what a campaign says and whom it is for, all of it. */
export async function updateCampaign(ctx: Ctx, id: string, input: CampaignInput): Promise<Campaign> {
  assertAllowed('update', await getCampaignState(ctx, id))
  await assertContent(ctx, input)
  const columns = columnsOf(input)
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const { projectId } = await lockedCampaign(tx, id, 'update')
    await keepAudience(tx, id, columns)
    const { audienceCondition, ...others } = columns
    const condition = audienceCondition && JSON.stringify(audienceCondition)
    await tx.sql(replaceCampaign, { projectId, id, ...others, condition, now: tx.now() })
    return getCampaign(tx, id)
  })
}

/** Deletes a campaign; its ledger, which may be long, goes in the background. Its mail stays with the contacts. */
export async function deleteCampaign(ctx: Ctx, id: string): Promise<void> {
  await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const { projectId } = await lockedCampaign(tx, id, 'delete')
    await keepInterests(tx, { consumer: 'CAMPAIGN', id }, [])
    const data = { deleted: true, segmentId: null }
    await tx.db.campaign.update({ where: { projectId_id: { projectId, id } }, data })
    await workNow(tx, { projectId, id })
  })
}
