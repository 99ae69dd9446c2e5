import type { z } from 'zod'
import { takeQuota } from '../../admission/quotas.ts'
import { recordEventNamesWithin } from '../../admission/recorded-names.ts'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import { referencesOf } from '../../audience/references.rules.ts'
import { type FilterTree, toJson } from '../../audience/tree.rules.ts'
import { interestsIn, isUsed, keepInterests, lockInterests, usageOf } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { violates } from '../../db/sql.ts'
import { conflict, fieldError, notFound } from '../../errors.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { given } from '../../lib/given.ts'
import { isId, newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { askForChecks, removeLater } from '../memberships/compute.ts'
import { keepStored, movementEvents } from '../memberships/membership.ts'
import { startWindows } from '../memberships/windows.ts'
import { getSegment, lockedSegment } from './find-segment.ts'
import { countMembers } from './member-count.ts'
import type { createSegmentInput, updateSegmentInput } from './segments.input.ts'
import { slugOf } from './segments.rules.ts'
import { lockWithDependents, noteListening, reviseSegments } from './segments.sql.ts'

/** The condition, checked. `self` is the segment that it belongs to, if there is one already. */
async function readCondition(ctx: Ctx, condition: unknown, self: string | null): Promise<FilterTree> {
  if (!isJsonObject(condition)) {
    throw fieldError('condition', 'required', 'is required: a DYNAMIC segment has a filter tree')
  }
  const tree = parseTree(condition, 'condition')
  await loadAudience(ctx, tree, 'condition', self)
  return tree
}

/** A slug that no other segment of the project has: `vip`, `vip-2`. The project's interests are locked. */
async function freeSlug(tx: Ctx, name: string): Promise<string> {
  const slug = slugOf(name)
  const where = { projectId: projectIdOf(tx), slug: { startsWith: slug } }
  const taken = new Set(
    (await tx.db.segment.findMany({ where, select: { slug: true } })).map((one) => one.slug),
  )
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? slug : `${slug}-${number}`
    if (!taken.has(candidate)) return candidate
  }
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
    await lockInterests(tx)
    await takeQuota(tx, 'segments', { field: 'name' })
    const tree = type === 'DYNAMIC' ? await readCondition(tx, condition, null) : undefined
    const now = tx.now()
    const created = await tx.db.segment.create({
      data: {
        ...{
          projectId,
          id: newId(now),
          name,
          slug: await freeSlug(tx, name),
          description: description ?? null,
        },
        ...{ type, trackMembership, passAsked: trackMembership ? 1 : 0, createdAt: now, updatedAt: now },
        ...(tree && { condition: toJson(tree) }),
      },
    })
    await keepCondition(tx, created.id, tree)
    if (trackMembership) {
      await recordEventNamesWithin(tx, movementEvents(created.slug), 'trackMembership')
      await tx.sql(noteListening, { projectId, id: created.id, clockShift: tx.services.clockShift() })
      await startWindows(tx, created.id)
    }
    return created
  })
  return counted(ctx, segment)
}

/** Keeps what a condition refers to, and has the segment looked at. */
async function keepCondition(tx: Ctx, id: string, tree: FilterTree | undefined): Promise<void> {
  if (tree) await keepInterests(tx, { consumer: 'SEGMENT', id }, interestsIn(referencesOf(tree)))
  await askForChecks(tx)
}

/**
 * The segment with its number of members, as far as they are not stored. The segment is committed by now, so a count
 * that takes too long must not look as if it were not; it is counted in the background then.
 */
async function counted(ctx: Ctx, segment: Segment): Promise<Segment> {
  if (segment.type === 'STATIC' || segment.trackMembership) return segment
  const memberCount = await countMembers(ctx, segment)
  return memberCount === null ? segment : { ...segment, memberCount }
}

/**
 * Changes the given fields. Members of a tracked segment follow a new condition in the background; a segment
 * that is tracked no more loses its members.
 */
export async function updateSegment(
  ctx: Ctx,
  id: string,
  { name, description, condition, trackMembership }: z.output<typeof updateSegmentInput>,
): Promise<Segment> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The segment')
  const { segment, isOutdated } = await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const locked = await tx.sql(lockWithDependents, { projectId, id })
    const known = await getSegment(tx, id)
    const isDynamic = known.type === 'DYNAMIC'
    const changed = isDynamic && condition !== undefined
    const tree = changed ? await readCondition(tx, condition, known.id) : undefined
    const switched = isDynamic && trackMembership !== undefined && trackMembership !== known.trackMembership
    if (trackMembership && !known.trackMembership) {
      await recordEventNamesWithin(tx, movementEvents(known.slug), 'trackMembership')
    }
    const where = { projectId_id: { projectId, id } }
    await tx.db.segment.update({
      where,
      data: {
        ...given({ name, description, condition: tree && toJson(tree), trackMembership }),
        // Members that have not left yet since it was tracked before stay: they have not missed anything.
        ...(switched && { computedAt: null }),
        updatedAt: tx.now(),
      },
    })
    const isOutdated = changed || switched
    const revised = locked.filter((one) => changed || one.id === known.id).map((one) => one.id)
    if (isOutdated) {
      await tx.sql(reviseSegments, { projectId, ids: revised, clockShift: tx.services.clockShift() })
      await keepCondition(tx, known.id, tree ?? parseTree(known.condition, 'condition'))
    }
    if (switched && trackMembership) {
      await startWindows(tx, id)
      await keepStored(tx, id)
    }
    return { segment: await getSegment(tx, id), isOutdated }
  })
  return isOutdated ? counted(ctx, segment) : segment
}

/** Whether others refer to the segment, or to the events of its entries and exits. */
async function isInUse(tx: Ctx, { id, slug }: Segment): Promise<boolean> {
  const events = await usageOf(tx, 'EVENT', ...movementEvents(slug))
  const usedInSegments = events.usedInSegments.filter((one) => one.id !== id)
  return isUsed({ ...events, usedInSegments }) || isUsed(await usageOf(tx, 'SEGMENT', id))
}

/** Throws CONFLICT while a segment, a workflow or a campaign that is not yet sent or cancelled uses it. */
export async function deleteSegment(ctx: Ctx, id: string): Promise<void> {
  const projectId = projectIdOf(ctx)
  try {
    await ctx.atomically(async (tx) => {
      await lockInterests(tx)
      const segment = await lockedSegment(tx, id)
      if (await isInUse(tx, segment)) throw inUse()
      // Campaigns that are over keep their record without it.
      await tx.db.campaign.updateMany({
        where: { projectId, segmentId: id, status: { in: ['SENT', 'CANCELLED'] } },
        data: { segmentId: null },
      })
      await keepInterests(tx, { consumer: 'SEGMENT', id }, [])
      await tx.db.segment.deleteMany({ where: { projectId, id } })
      await removeLater(tx, id)
    })
  } catch (error) {
    throw violates(error, 'campaigns_project_id_segment_id_fkey') ? inUse() : error
  }
}

const inUse = () => conflict('The segment is used by a campaign, a workflow or another segment.')
