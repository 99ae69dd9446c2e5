import { type Ctx, projectIdOf } from '../ctx.ts'
import type { References } from './references.rules.ts'
import {
  joinReferences,
  referencesOfCondition,
  referencesOfStep,
  referencesOfTrigger,
} from './usage.rules.ts'

export type Named = { id: string; name: string }

/** What refers to a field, an event or a segment. */
export type AudienceUsage = { usedInSegments: Named[]; usedInCampaigns: Named[]; usedInWorkflows: Named[] }

export const isUsed = (usage: AudienceUsage): boolean =>
  usage.usedInSegments.length + usage.usedInCampaigns.length + usage.usedInWorkflows.length > 0

const named = (all: (Named & { references: References })[], refers: (references: References) => boolean) =>
  all.filter(({ references }) => refers(references)).map(({ id, name }) => ({ id, name }))

/**
 * Every segment, every workflow, enabled or not, and every campaign that is not yet sent or cancelled whose
 * filters or configuration refer to the thing. Constant number of statements.
 */
export async function audienceUsage(
  ctx: Ctx,
  refers: (references: References) => boolean,
): Promise<AudienceUsage> {
  const [segments, campaigns, workflows] = await Promise.all([
    segmentReferences(ctx),
    campaignReferences(ctx),
    workflowReferences(ctx),
  ])
  return {
    usedInSegments: named(segments, refers),
    usedInCampaigns: named(campaigns, refers),
    usedInWorkflows: named(workflows, refers),
  }
}

async function segmentReferences(ctx: Ctx) {
  const segments = await ctx.db.segment.findMany({
    where: { projectId: projectIdOf(ctx) },
    select: { id: true, name: true, condition: true },
    orderBy: { id: 'asc' },
  })
  return segments.map(({ condition, ...segment }) => ({
    ...segment,
    references: referencesOfCondition(condition),
  }))
}

async function campaignReferences(ctx: Ctx) {
  const campaigns = await ctx.db.campaign.findMany({
    where: { projectId: projectIdOf(ctx), status: { in: ['DRAFT', 'SCHEDULED', 'SENDING'] } },
    select: { id: true, name: true, segmentId: true, audienceCondition: true },
    orderBy: { id: 'asc' },
  })
  return campaigns.map(({ id, name, segmentId, audienceCondition }) => {
    const filters = referencesOfCondition(audienceCondition)
    const segments = segmentId ? [...filters.segments, segmentId] : filters.segments
    return { id, name, references: { ...filters, segments } }
  })
}

async function workflowReferences(ctx: Ctx) {
  const workflows = await ctx.db.workflow.findMany({
    where: { projectId: projectIdOf(ctx) },
    select: {
      ...{ id: true, name: true, triggerType: true, triggerConfig: true },
      steps: { select: { type: true, config: true } },
    },
    orderBy: { id: 'asc' },
  })
  return workflows.map(({ id, name, triggerType, triggerConfig, steps }) => ({
    id,
    name,
    references: joinReferences([
      referencesOfTrigger(triggerType, triggerConfig),
      ...steps.map(({ type, config }) => referencesOfStep(type, config)),
    ]),
  }))
}
