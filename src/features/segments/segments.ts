import { z } from 'zod'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parse.ts'
import { toJson } from '../../audience/tree.rules.ts'
import { audienceUsage, isUsed } from '../../audience/usage.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, violates } from '../../db/sql.ts'
import { conflict, fieldError, notFound } from '../../errors.ts'
import type { Prisma, Segment } from '../../generated/prisma/client.ts'
import { clearable, json, line, optional } from '../../lib/fields.ts'
import { given } from '../../lib/given.ts'
import { isId, newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { lockConditions, lockSegment, lockWithDependents, recomputeDependents } from './membership.sql.ts'
import { segmentNotFound } from './membership.ts'
import { countMembers } from './refresh-segments.ts'
import { slugOf } from './segments.rules.ts'

const MAX_NAME = 100
const MAX_DESCRIPTION = 500

const CONDITION =
  'A filter tree: { logic: "AND" | "OR", groups: [{ filters: [{ field, operator, value?, unit? }], conditions? }] }.'

export const createSegmentInput = z
  .object({
    name: line(MAX_NAME).min(1),
    description: optional(z.string().max(MAX_DESCRIPTION)),
    type: optional(z.enum(['DYNAMIC', 'STATIC']).meta({ id: 'SegmentType' })).describe('DYNAMIC by default.'),
    condition: optional(json).describe(`${CONDITION} Required for DYNAMIC, ignored for STATIC.`),
    trackMembership: optional(z.boolean()).describe(
      'Whether entries and exits are recorded as events; false by default.',
    ),
  })
  .meta({
    description: 'A part of the contacts.',
    examples: [
      {
        name: 'Pro customers',
        condition: {
          logic: 'AND',
          groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
        },
      },
    ],
  })

export const updateSegmentInput = z
  .object({
    name: line(MAX_NAME).min(1).optional(),
    description: clearable(z.string().max(MAX_DESCRIPTION)),
    condition: clearable(json).describe(`${CONDITION} Of a STATIC segment it is ignored.`),
    trackMembership: optional(z.boolean()),
  })
  .meta({ description: 'What changes of a segment.', examples: [{ name: 'Pro and team customers' }] })

/** The condition in the form that is stored. `self` is the segment that it belongs to, if there is one already. */
async function readCondition(
  ctx: Ctx,
  condition: unknown,
  self: string | null,
): Promise<Prisma.InputJsonValue> {
  if (!isJsonObject(condition)) {
    throw fieldError('condition', 'required', 'is required: a DYNAMIC segment has a filter tree')
  }
  const tree = parseTree(condition, 'condition')
  await loadAudience(ctx, tree, 'condition', self)
  return toJson(tree)
}

export async function createSegment(
  ctx: Ctx,
  {
    name,
    description,
    type = 'DYNAMIC',
    condition,
    trackMembership = false,
  }: z.output<typeof createSegmentInput>,
): Promise<Segment> {
  const projectId = projectIdOf(ctx)
  const segment = await ctx.atomically(async (tx) => {
    await tx.sql(lockConditions, [projectId])
    const stored = type === 'DYNAMIC' ? await readCondition(tx, condition, null) : undefined
    const now = tx.now()
    return tx.db.segment.create({
      data: {
        ...{ projectId, id: newId(now), name, slug: slugOf(name), description: description ?? null, type },
        ...{
          trackMembership,
          createdAt: now,
          updatedAt: now,
          ...(stored !== undefined && { condition: stored }),
        },
      },
    })
  })
  return counted(ctx, segment)
}

/**
 * The segment with its number of members, as far as they are not stored: a new tracked or STATIC one has none.
 * The segment is committed by now, so a count that takes too long must not look as if it were not; it is
 * counted in the background then.
 */
async function counted(ctx: Ctx, segment: Segment): Promise<Segment> {
  if (segment.type === 'STATIC' || segment.trackMembership) return segment
  try {
    return await countMembers(ctx, segment)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    ctx.log.warn({ err: error, requestId: ctx.requestId, segmentId: segment.id }, 'a segment was not counted')
    return segment
  }
}

/** All segments, the newest first. */
export const listSegments = (ctx: Ctx): Promise<Segment[]> =>
  ctx.db.segment.findMany({ where: { projectId: projectIdOf(ctx) }, orderBy: { id: 'desc' } })

export async function getSegment(ctx: Ctx, id: string): Promise<Segment> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The segment')
  const segment = await ctx.db.segment.findUnique({ where: { projectId_id: { projectId, id } } })
  if (!segment) throw segmentNotFound()
  return segment
}

/** The segment as it is now, which nobody else changes until the transaction ends. */
export async function lockedSegment(tx: Ctx, id: string): Promise<Segment> {
  if (!isId(id)) throw notFound('The segment')
  const [locked] = await tx.sql(lockSegment, [projectIdOf(tx), id])
  if (!locked) throw segmentNotFound()
  // A statement of its own: it sees what was committed while that one waited.
  return getSegment(tx, id)
}

/**
 * Changes what is given. Members of a tracked segment follow a new condition in the background, or with
 * `computeSegment` at once; one that is no longer tracked forgets them.
 */
export async function updateSegment(
  ctx: Ctx,
  id: string,
  { name, description, condition, trackMembership }: z.output<typeof updateSegmentInput>,
): Promise<Segment> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The segment')
  const { segment, isOutdated } = await ctx.atomically(async (tx) => {
    await tx.sql(lockConditions, [projectId])
    await tx.sql(lockWithDependents, [projectId, id])
    const known = await getSegment(tx, id)
    const isDynamic = known.type === 'DYNAMIC'
    const changed = isDynamic && condition !== undefined
    const stored = changed ? await readCondition(tx, condition, known.id) : undefined
    if (changed) await tx.sql(recomputeDependents, [projectId])
    const switched = isDynamic && trackMembership !== undefined && trackMembership !== known.trackMembership
    const isOutdated = changed || switched
    const updated = await tx.db.segment.update({
      where: { projectId_id: { projectId, id } },
      data: {
        ...given({ name, slug: name && slugOf(name), description, condition: stored, trackMembership }),
        ...(isOutdated && { computedAt: null }),
        updatedAt: tx.now(),
      },
    })
    const forgets = switched && !trackMembership
    if (forgets) await tx.db.segmentMember.deleteMany({ where: { projectId, segmentId: id } })
    return { segment: updated, isOutdated }
  })
  return isOutdated ? counted(ctx, segment) : segment
}

/** Throws CONFLICT while a segment, a workflow or a campaign that is not yet sent or cancelled uses it. */
export async function deleteSegment(ctx: Ctx, id: string): Promise<void> {
  const projectId = projectIdOf(ctx)
  try {
    await ctx.atomically(async (tx) => {
      await tx.sql(lockConditions, [projectId])
      await lockedSegment(tx, id)
      const usage = await audienceUsage(tx, ({ segments }) => segments.includes(id.toLowerCase()))
      if (isUsed(usage)) throw inUse()
      // Campaigns that are over keep their record without it.
      await tx.db.campaign.updateMany({
        where: { projectId, segmentId: id, status: { in: ['SENT', 'CANCELLED'] } },
        data: { segmentId: null },
      })
      await tx.db.segment.deleteMany({ where: { projectId, id } })
    })
  } catch (error) {
    throw violates(error, 'campaigns_project_id_segment_id_fkey') ? inUse() : error
  }
}

const inUse = () => conflict('The segment is used by a campaign, a workflow or another segment.')
