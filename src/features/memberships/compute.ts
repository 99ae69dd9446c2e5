import { compileTree } from '../../audience/compile.sql.ts'
import { rangeEnd } from '../../audience/scan.sql.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Segment } from '../../generated/prisma/client.ts'
import { earliestId } from '../../lib/ids.ts'
import { workKind } from '../../queue/job-queue.ts'
import { newestContactId } from '../contacts/contacts.ts'
import { advancePass, askPass, beginPass, checkNow, endPass } from './compute.sql.ts'
import { concerns, heardFrom, namedBy, topicsByContact } from './follow-changes.rules.ts'
import { changesOf } from './follow-changes.sql.ts'
import {
  countBetween,
  type Difference,
  differences,
  membersAfter,
  noteRemoval,
  removeMembers,
} from './membership.sql.ts'
import { applyMoves, audienceOf, withMemberships } from './membership.ts'

/** Segments of a project have to be looked at: a pass was asked for, or something is due. */
export const segmentComputingWork = workKind('segments.compute')

/** Has a worker look at the project's segments after the commit. */
export async function askForChecks(tx: Ctx): Promise<void> {
  await tx.sql(checkNow, { projectId: projectIdOf(tx), clockShift: tx.services.clockShift() })
  tx.requestWork(segmentComputingWork)
}

/** Asks for a pass over all contacts of a segment that begins after this, and says its number; null without a segment. */
export async function askForPass(tx: Ctx, segmentId: string): Promise<number | null> {
  const [row] = await tx.sql(askPass, { projectId: projectIdOf(tx), segmentId })
  if (!row) return null
  await askForChecks(tx)
  return row.asked
}

/** Removes the members of a segment that is deleted, after the commit and in slices: they may be millions. */
export async function removeLater(tx: Ctx, segmentId: string): Promise<void> {
  await tx.sql(noteRemoval, { projectId: projectIdOf(tx), segmentId })
  await askForChecks(tx)
}

/** Removes some members of a segment that is deleted; false when there is none. */
export async function removePart(ctx: Ctx, size: number): Promise<boolean> {
  return (await ctx.sql(removeMembers, { projectId: projectIdOf(ctx), limit: size })).length > 0
}

/** Members that one commit moves. */
const MAX_MOVES = 5_000
const FIRST_ID = earliestId(new Date(0))

/** Thrown when the condition cannot be evaluated, whatever the state of the database is. */
export class BrokenSegment extends Error {
  constructor(cause: unknown) {
    super('The condition cannot be evaluated', { cause })
  }
}

/**
 * Does the next part of the pass over all contacts of a segment, `size` contacts at most, or begins it.
 * Members of a tracked segment enter and leave; a segment that is tracked no more loses its members, and the
 * matching contacts are counted. A condition that changes meanwhile ends the pass: the next one is asked for
 * already. Returns false when another slice holds the project's members.
 */
export async function passPart(ctx: Ctx, segmentId: string, size: number): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  const done = await withMemberships(ctx, async (tx, now) => {
    const segment = await tx.db.segment.findUnique({ where: { projectId_id: { projectId, id: segmentId } } })
    if (!segment) return true
    const audience = await audienceOf(tx, segment).catch((error: unknown) => {
      throw new BrokenSegment(error)
    })
    const range = await rangeOf(tx, segment)
    const key = { projectId, segmentId, revision: segment.revision }
    if (!range) {
      await tx.sql(endPass, { ...key, now })
      return true
    }
    const { after, until } = range
    const [end] = await tx.sql(rangeEnd, { projectId, after, until, offset: size - 1 })
    const found = await findMoves(tx, { segment, audience, now, after, last: end?.id ?? until })
    const heard = await heardOf(tx, segment, audience, found.moves)
    const moves = found.moves.map((one) => ({ ...one, segmentId, initial: !heard.has(one.contactId) }))
    const revisions = new Map([[segmentId, segment.revision]])
    const moved = await applyMoves(tx, moves, { revisions, now })
    await tx.sql(advancePass, {
      ...key,
      after: found.last,
      added: moved.entered + found.counted,
      removed: moved.departed,
    })
    if (found.last >= until) await tx.sql(endPass, { ...key, now })
    wakeFollowers(tx, [moved])
    return true
  })
  return done ?? false
}

/**
 * Contacts that enter a segment before it is filled because of a change that it has heard of: they did not
 * match before.
 */
async function heardOf(
  tx: Ctx,
  { computedAt, listeningAt }: Segment,
  audience: Audience,
  moves: Difference[],
): Promise<Set<string>> {
  const entering = moves.filter(({ enters }) => enters).map(({ contactId }) => contactId)
  if (computedAt !== null || entering.length === 0) return new Set()
  const named = namedBy(audience)
  const changes = await tx.sql(changesOf, {
    projectId: projectIdOf(tx),
    contactIds: entering,
    firstId: heardFrom(listeningAt),
  })
  const heard = [...topicsByContact(changes)].filter(([, topics]) => concerns(topics, named))
  return new Set(heard.map(([contactId]) => contactId))
}

/** Where the pass goes on, after beginning it if necessary; null when no contact is left to look at. */
async function rangeOf(tx: Ctx, segment: Segment): Promise<{ after: string; until: string } | null> {
  const { projectId, id, revision, pass, passAsked, passAfter, passUntil, passIsSlow } = segment
  const goesOn = passAfter !== null && passUntil !== null && !(passIsSlow && passAsked > pass)
  if (goesOn) return { after: passAfter, until: passUntil }
  const newest = await newestContactId(tx)
  const until = newest ?? FIRST_ID
  await tx.sql(beginPass, {
    projectId,
    segmentId: id,
    revision,
    isSlow: passAsked <= pass,
    until,
    firstId: FIRST_ID,
  })
  return newest ? { after: FIRST_ID, until } : null
}

type Part = { segment: Segment; audience: Audience; now: Date; after: string; last: string }
type Found = { moves: Difference[]; counted: number; last: string }

/** Contacts that move in a part, which ends earlier when many move. */
async function findMoves(tx: Ctx, { segment, audience, now, after, last }: Part): Promise<Found> {
  const { projectId, id: segmentId, trackMembership } = segment
  const condition = compileTree(audience, now)
  if (trackMembership) {
    const part = { projectId, segmentId, after, until: last, ...condition.params }
    const found = await tx.sql(differences(condition), part)
    return { ...cut(found, last), counted: 0 }
  }
  const leaving = await tx.sql(membersAfter, { projectId, segmentId, after, limit: MAX_MOVES })
  const part = cut(
    leaving.filter(({ contactId }) => contactId <= last),
    last,
  )
  const [counted] = await tx.sql(countBetween(condition), {
    projectId,
    after,
    until: part.last,
    ...condition.params,
  })
  return { ...part, counted: counted?.count ?? 0 }
}

function cut(found: Difference[], last: string): { moves: Difference[]; last: string } {
  const moves = found.slice(0, MAX_MOVES)
  return { moves, last: moves.length === MAX_MOVES ? (moves.at(-1)?.contactId ?? last) : last }
}
