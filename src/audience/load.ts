import { type Ctx, projectIdOf } from '../ctx.ts'
import { lastEventsOf, membershipsOf, segmentSources, subjectsOf } from './load.sql.ts'
import type { LastEvent, Subject } from './match.rules.ts'
import { parseTree } from './parsing/parse.ts'
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
    const rows = await ctx.sql(segmentSources, { projectId: projectIdOf(ctx), ids: wanted })
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
  const computed = [...audience.segments.values()].flatMap((source) =>
    source.members === 'computed' ? [source.condition] : [],
  )
  const references = [audience.tree, ...computed].map(referencesOf)
  const asked = {
    events: [...new Set(references.flatMap(({ events }) => events))],
    segments: [...new Set(references.flatMap(({ segments }) => segments))],
  }
  const subjects = await loadSubjects(ctx, [contactId], asked)
  return subjects.get(contactId) ?? null
}

/** Contacts by id, with the last events of the names and the stored memberships in the segments that are asked for. */
export async function loadSubjects(
  ctx: Ctx,
  ids: string[],
  asked: { events: string[]; segments: string[] },
): Promise<Map<string, Subject>> {
  const projectId = projectIdOf(ctx)
  const contacts = await ctx.sql(subjectsOf, { projectId, ids })
  if (contacts.length === 0) return new Map()
  const events =
    asked.events.length > 0
      ? await ctx.sql(lastEventsOf, { projectId, contactIds: ids, names: asked.events })
      : []
  const stored =
    asked.segments.length > 0
      ? await ctx.sql(membershipsOf, { projectId, contactIds: ids, segmentIds: asked.segments })
      : []
  const eventsOf = new Map<string, Map<string, LastEvent>>()
  for (const { contactId, name, at, byPerson } of events) {
    const last = eventsOf.get(contactId) ?? new Map<string, LastEvent>()
    eventsOf.set(contactId, last.set(name, { at, byPerson }))
  }
  const segmentsOf = new Map(stored.map(({ contactId, segmentIds }) => [contactId, new Set(segmentIds)]))
  return new Map(
    contacts.map(({ id, ...contact }) => [
      id,
      { contact, events: eventsOf.get(id) ?? new Map(), segments: segmentsOf.get(id) ?? new Set() },
    ]),
  )
}
