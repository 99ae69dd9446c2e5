import { compileTree, type Predicate } from '../../audience/compile.sql.ts'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import { type References, referencesOf } from '../../audience/references.rules.ts'
import { type Audience, type FilterTree, type SegmentSource, toJson } from '../../audience/tree.rules.ts'
import type { Ctx } from '../../ctx.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import type { AudienceType } from '../../generated/prisma/enums.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts'
import { getSegment, segmentNotFound } from '../segments/find-segment.ts'

/** Whom a campaign is for, as its row says it. */
export type CampaignAudience = {
  audienceType: AudienceType
  segmentId: string | null
  audienceCondition: unknown
}

/** The filter tree of an audience; null for all contacts. Throws VALIDATION_ERROR for a bad one. */
function treeOf({ audienceType, segmentId, audienceCondition }: CampaignAudience): FilterTree | null {
  if (audienceType === 'FILTERED') return parseTree(audienceCondition, 'audienceCondition')
  if (audienceType === 'ALL') return null
  const filter = { field: `segment.${segmentId}`, operator: 'memberOfSegment' }
  return parseTree({ logic: 'AND', groups: [{ filters: [filter] }] }, 'segmentId')
}

/** What an audience refers to, which must not be deleted while the campaign needs it. */
export function referencesOfAudience(audience: CampaignAudience): References {
  const tree = treeOf(audience)
  return tree ? referencesOf(tree) : { fields: [], keys: [], events: [], segments: [] }
}

/**
 * The audience with the segments that it names, as they are at present; null for all contacts. Throws SEGMENT_NOT_FOUND,
 * and VALIDATION_ERROR for a bad tree.
 */
export async function resolveAudience(ctx: Ctx, audience: CampaignAudience): Promise<Audience | null> {
  if (audience.audienceType === 'SEGMENT') {
    // A campaign that is over outlives its segment.
    if (audience.segmentId === null) throw segmentNotFound()
    await getSegment(ctx, audience.segmentId)
  }
  const tree = treeOf(audience)
  return (
    tree && loadAudience(ctx, tree, audience.audienceType === 'SEGMENT' ? 'segmentId' : 'audienceCondition')
  )
}

/** An audience as it is stored when a campaign starts: what its segments become later does not matter to it. */
export const storedAudience = ({ tree, segments }: Audience): JsonObject => ({
  tree: toJson(tree),
  segments: Object.fromEntries(
    [...segments].map(([id, source]) => [id, source.members === 'stored' ? null : toJson(source.condition)]),
  ),
})

/** An audience that was stored; null for all contacts. */
export function audienceFrom(stored: unknown): Audience | null {
  if (!isJsonObject(stored)) return null
  const segments = isJsonObject(stored.segments) ? Object.entries(stored.segments) : []
  const sources = segments.map(([id, condition]): [string, SegmentSource] => [id, sourceOf(condition)])
  return { tree: parseTree(stored.tree, 'audience'), segments: new Map(sources) }
}

/** The condition of an audience that was stored, as of an instant; all contacts for null. */
export function conditionOf(stored: unknown, instant: Date): Predicate {
  const audience = audienceFrom(stored)
  return audience ? compileTree(audience, instant) : ALL
}

const ALL: Predicate = { text: isKept('c'), params: {} }

const sourceOf = (condition: JsonValue): SegmentSource =>
  condition === null
    ? { members: 'stored' }
    : { members: 'computed', condition: parseTree(condition, 'segment') }
