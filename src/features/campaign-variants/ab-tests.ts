import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, fieldError } from '../../errors.ts'
import type { AbTestMetric } from '../../generated/prisma/enums.ts'
import { workNow } from '../campaigns/campaign-work.ts'
import {
  assertAllowed,
  type CampaignState,
  getCampaignState,
  lockedCampaign,
} from '../campaigns/find-campaign.ts'
import { assertSyntax } from '../templates/syntax.ts'
import type { AbTestInput } from './ab-tests.input.ts'
import { limitsOf, winnerOf } from './ab-tests.rules.ts'
import {
  readVariants,
  setDecision,
  setWinner,
  type Variant,
  variantBytes,
  variantResults,
} from './ab-tests.sql.ts'

export type AbTest = {
  testPercent: number
  metric: AbTestMetric
  decideAfterMinutes: number
  decidesAt: Date | null
  winner: number | null
  variants: Variant[]
}

/** The A/B test of a campaign, read when there is room for it; null without one. Throws SERVICE_UNAVAILABLE. */
export async function getAbTest(ctx: Ctx, campaignId: string): Promise<AbTest | null> {
  const campaign = await getCampaignState(ctx, campaignId)
  const { projectId, id, testPercent, testMetric, testMinutes, decideAt, winner } = campaign
  if (testPercent === null || testMetric === null || testMinutes === null) return null
  const [size] = await ctx.sql(variantBytes, { projectId, campaignId: id })
  await ctx.answerBytes.takeAnswer(size?.bytes ?? 0)
  const variants = await ctx.sql(readVariants, { projectId, campaignId: id })
  return {
    ...{ testPercent, metric: testMetric, decideAfterMinutes: testMinutes },
    ...{ decidesAt: winner === null ? decideAt : null, winner, variants },
  }
}

/** Gives a campaign that has not begun an A/B test, in place of the one that it has; null: none. */
export async function setAbTest(ctx: Ctx, id: string, test: AbTestInput | null): Promise<AbTest | null> {
  assertAllowed('update', await getCampaignState(ctx, id))
  for (const [index, { subject, body }] of (test?.variants ?? []).entries()) {
    if (subject !== undefined) await assertSyntax(ctx, `variants.${index}.subject`, subject)
    if (body !== undefined) await assertSyntax(ctx, `variants.${index}.body`, body)
  }
  await ctx.atomically(async (tx) => {
    const { projectId, id: campaignId, localTime } = await lockedCampaign(tx, id, 'update')
    if (test && localTime !== null) {
      throw conflict('A campaign that is sent in the time zones of its recipients can have no A/B test.')
    }
    await tx.db.campaignVariant.deleteMany({ where: { projectId, campaignId } })
    if (test) {
      await tx.db.campaignVariant.createMany({
        data: test.variants.map(({ subject = null, body = null, weight = 1 }, index) => ({
          ...{ projectId, campaignId, number: index + 1, subject, body, weight },
        })),
      })
    }
    await tx.db.campaign.update({
      where: { projectId_id: { projectId, id: campaignId } },
      data: {
        testPercent: test?.testPercent ?? null,
        testMetric: test?.metric ?? null,
        testMinutes: test?.decideAfterMinutes ?? null,
        updatedAt: tx.now(),
      },
      select: { id: true },
    })
  })
  return test && getAbTest(ctx, id)
}

/** Ends an A/B test at once: whoever is not in it gets this variant. Throws CONFLICT when there is a winner. */
export async function pickWinner(ctx: Ctx, id: string, number: number): Promise<AbTest | null> {
  await ctx.atomically(async (tx) => {
    const campaign = await lockedCampaign(tx, id, 'pickWinner')
    const { projectId, id: campaignId, testPercent, winner } = campaign
    if (testPercent === null) throw conflict('The campaign has no A/B test.')
    if (winner !== null) throw conflict(`Variant ${winner} has won the A/B test already.`)
    const variants = await tx.sql(variantResults, { projectId, campaignId })
    if (!variants.some((variant) => variant.number === number)) {
      throw fieldError('variant', 'custom', `must be the number of a variant, 1 to ${variants.length}`)
    }
    await noteWinner(tx, campaign, number)
    await workNow(tx, campaign)
  })
  return getAbTest(ctx, id)
}

const noteWinner = (tx: Ctx, { projectId, id }: CampaignState, winner: number) =>
  tx.sql(setWinner, { projectId, id, winner, now: tx.now() })

/** Up to which number of its hash each of the variants gets a contact; null without a test. */
export async function testLimits(tx: Ctx, { id, testPercent }: CampaignState): Promise<number[] | null> {
  if (testPercent === null) return null
  const variants = await tx.db.campaignVariant.findMany({
    where: { projectId: projectIdOf(tx), campaignId: id },
    select: { weight: true },
    orderBy: { number: 'asc' },
  })
  return limitsOf(
    testPercent,
    variants.map(({ weight }) => weight),
  )
}

/**
 * Milliseconds until the winner of an A/B test is chosen whose messages are all queued; 0 once it is. The campaign is locked,
 * and the winner is written with what follows from it, so that it is chosen once.
 */
export async function decide(tx: Ctx, campaign: CampaignState): Promise<number> {
  const { projectId, id, testMetric } = campaign
  const [decision] = await tx.sql(setDecision, { projectId, id, clockShift: tx.services.clockShift() })
  if (decision && decision.afterMs > 0) return decision.afterMs
  const results = await tx.sql(variantResults, { projectId, campaignId: id })
  const best = winnerOf(results, testMetric ?? 'OPENS')
  if (!best) throw new Error(`Campaign ${id} has a test without variants`)
  await noteWinner(tx, campaign, best.number)
  tx.log.info({ campaignId: id, winner: best.number }, 'the A/B test of a campaign has a winner')
  return 0
}
