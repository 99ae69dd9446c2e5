import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { limitTime } from '../../db/sql.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { countStored, holdMemberships, holdSegments, type Moved, moveMembers } from './membership.sql.ts'

/** The condition of a DYNAMIC segment, with the segments that it names. */
export const audienceOf = (
  ctx: Ctx,
  { id, condition }: Pick<Segment, 'id' | 'condition'>,
): Promise<Audience> => loadAudience(ctx, parseTree(condition, 'condition'), 'condition', id)

/** The names of the events of a segment's entries and exits, as `moveMembers` records them. */
export const movementEvents = (slug: string): string[] => [`segment.${slug}.entry`, `segment.${slug}.exit`]

/** Keeps the number of stored members and returns it; null when they are not stored. */
export async function keepStored(ctx: Ctx, id: string): Promise<number | null> {
  const params = { projectId: projectIdOf(ctx), segmentId: id, clockShift: ctx.services.clockShift() }
  const [stored] = await ctx.sql(countStored, params)
  return stored?.count ?? null
}

/** No statement of a slice takes longer. */
const STATEMENT_MS = 3_000

/**
 * Runs work that moves members of DYNAMIC segments, in one transaction. One at a time does so in a project, so that what
 * it has read of members stays true; null when another one is at it. `now` is the database's time: clocks of
 * processes may disagree on whether a window has passed.
 */
export async function withMemberships<Result>(
  ctx: Ctx,
  work: (tx: Ctx, now: Date) => Promise<Result>,
): Promise<Result | null> {
  return ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(STATEMENT_MS) })
    const [turn] = await tx.sql(holdMemberships, {
      projectId: projectIdOf(tx),
      clockShift: tx.services.clockShift(),
    })
    return turn?.held ? work(tx, turn.now) : null
  })
}

/** A contact that enters or leaves a segment; with `initial` it was there before the segment was filled. */
export type Move = { segmentId: string; contactId: string; enters: boolean; initial?: boolean }

/**
 * Moves members of DYNAMIC segments and records their entries and exits, as far as the segments are still of the
 * revision that was evaluated and the contacts are still there. Segments are locked for this moment only.
 */
export async function applyMoves(
  tx: Ctx,
  found: Move[],
  { revisions, now }: { revisions: Map<string, number>; now: Date },
): Promise<Moved> {
  if (found.length === 0) return NOBODY
  const segmentIds = [...new Set(found.map(({ segmentId }) => segmentId))]
  const held = await tx.sql(holdSegments, { projectId: projectIdOf(tx), ids: segmentIds })
  const same = new Set(held.filter(({ id, revision }) => revisions.get(id) === revision).map(({ id }) => id))
  const moves = found.filter(({ segmentId }) => same.has(segmentId))
  return move(tx, moves, { now, records: true, isList: false })
}

const NOBODY: Moved = { entered: 0, departed: 0, heard: [] }

type How = { now: Date; records: boolean; isList: boolean }

/** Moves members of segments that are held. */
export async function move(tx: Ctx, moves: Move[], { now, records, isList }: How): Promise<Moved> {
  if (moves.length === 0) return NOBODY
  const [moved] = await tx.sql(moveMembers, {
    projectId: projectIdOf(tx),
    segmentIds: moves.map(({ segmentId }) => segmentId),
    contactIds: moves.map(({ contactId }) => contactId),
    entering: moves.map(({ enters }) => enters),
    initial: moves.map(({ initial = false }) => initial),
    records,
    now,
    areLists: isList,
  })
  return moved ?? NOBODY
}
