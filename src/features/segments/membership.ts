import { compileTree } from '../../audience/compile.sql.ts'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parse.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Statement } from '../../db/sql.ts'
import { notFound } from '../../errors.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { MOVE_PARAMETERS, type Moved, moveMembers, type Scope } from './membership.sql.ts'
import { entryEvent, exitEvent } from './segments.rules.ts'

/** Up to the version digit: the part of a UUID v7 that holds the time. */
const TIME_LENGTH = 15

export const segmentNotFound = () => notFound('The segment', 'SEGMENT_NOT_FOUND')

/** Runs a statement that moves members of a segment; see MOVE_PARAMETERS. */
export async function move(
  tx: Ctx,
  statement: Statement<Moved>,
  segment: Segment,
  contactIds: string[],
  values: unknown[] = [],
): Promise<Moved> {
  const now = tx.now()
  const [moved] = await tx.sql(statement, [
    ...[projectIdOf(tx), segment.id, contactIds, entryEvent(segment.slug), exitEvent(segment.slug)],
    ...[JSON.stringify({ segmentId: segment.id, segmentName: segment.name }), now],
    ...[newId(now).slice(0, TIME_LENGTH), segment.trackMembership, segment.type === 'STATIC', ...values],
  ])
  return moved ?? { entered: 0, departed: 0 }
}

/** The condition of a DYNAMIC segment, with the segments that it names. */
export const audienceOf = (
  ctx: Ctx,
  { id, condition }: Pick<Segment, 'id' | 'condition'>,
): Promise<Audience> => loadAudience(ctx, parseTree(condition, 'condition'), 'condition', id)

/** Evaluates a tracked segment for contacts (see `moveMembers`), in a transaction that has locked it. */
export async function evaluate(tx: Ctx, segment: Segment, scope: Scope, ids: string[]): Promise<Moved> {
  const audience = await audienceOf(tx, segment)
  const condition = compileTree(audience, {
    projectId: projectIdOf(tx),
    now: tx.now(),
    firstParameter: MOVE_PARAMETERS + 1,
  })
  return move(tx, moveMembers(condition, scope), segment, ids, condition.values)
}
