import { type Ctx, projectIdOf } from '../ctx.ts'
import { contactOf, lastEvents, membershipsOf, segmentSources } from './load.sql.ts'
import type { Subject } from './match.rules.ts'
import { parseTree } from './parse.ts'
import { referencesOf } from './references.rules.ts'
import { MAX_SEGMENT_CHAIN } from './resolve.rules.ts'
import { resolveTree } from './resolve.ts'
import type { Audience, FilterTree, SegmentSource } from './tree.rules.ts'

/**
 * Reads the segments that a tree names, directly or through others, and resolves it with them: see
 * `resolveTree`. One statement per step from segment to segment.
 */
export async function loadAudience(
  ctx: Ctx,
  tree: FilterTree,
  root: string,
  self: string | null = null,
): Promise<Audience> {
  const segments = new Map<string, SegmentSource>()
  let wanted = referencesOf(tree).segments
  // Two more than there may be, so that a longer chain is seen as one.
  for (let step = 0; wanted.length > 0 && step < MAX_SEGMENT_CHAIN + 2; step += 1) {
    const rows = await ctx.sql(segmentSources, [projectIdOf(ctx), wanted])
    const sources = rows.map(({ id, condition }): [string, SegmentSource] => [id, sourceOf(id, condition)])
    for (const [id, source] of sources) segments.set(id, source)
    const named = sources.flatMap(([, source]) =>
      source.members === 'computed' ? referencesOf(source.condition).segments : [],
    )
    wanted = [...new Set(named)].filter((id) => !segments.has(id))
  }
  return resolveTree(tree, segments, root, self)
}

const sourceOf = (id: string, condition: unknown): SegmentSource =>
  condition === null
    ? { members: 'stored' }
    : { members: 'computed', condition: parseTree(condition, `segment.${id}.condition`) }

/** Reads what an audience asks about one contact, for `matchTree` and `explainTree`; null when there is none. */
export async function loadSubject(ctx: Ctx, contactId: string, audience: Audience): Promise<Subject | null> {
  const project = projectIdOf(ctx)
  const [contact] = await ctx.sql(contactOf, [project, contactId])
  if (!contact) return null
  const computed = [...audience.segments.values()].flatMap((source) =>
    source.members === 'computed' ? [source.condition] : [],
  )
  const references = [audience.tree, ...computed].map(referencesOf)
  const names = [...new Set(references.flatMap(({ events }) => events))]
  const ids = [...new Set(references.flatMap(({ segments }) => segments))]
  const events = names.length > 0 ? await ctx.sql(lastEvents, [project, contactId, names]) : []
  const members = ids.length > 0 ? await ctx.sql(membershipsOf, [project, contactId, ids]) : []
  return {
    contact,
    events: new Map(events.map(({ name, at, byPerson }) => [name, { at, byPerson }])),
    segments: new Set(members.map(({ id }) => id)),
  }
}
