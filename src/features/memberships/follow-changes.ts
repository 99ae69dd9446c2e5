import { loadSubjects } from '../../audience/load.ts'
import { matchTree, type Subject } from '../../audience/match.rules.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'
import { askPasses } from './compute.sql.ts'
import { askForChecks } from './compute.ts'
import {
  concerns,
  heardFrom,
  type Named,
  namedBy,
  type Topics,
  topicsByContact,
  topicsTogether,
} from './follow-changes.rules.ts'
import {
  allTracked,
  conditionsOf,
  firstChanges,
  noteTrouble,
  removeChanges,
  type TrackedRow,
  trackedThatAsk,
} from './follow-changes.sql.ts'
import { applyMoves, audienceOf, type Move, withMemberships } from './membership.ts'

/** Evaluations of one commit: contacts by segments. */
const MAX_PAIRS = 200_000
/** Members that one commit moves, and milliseconds that it evaluates: others wait for its locks. */
const MAX_MOVES = 5_000
const EVALUATE_MS = 500
/** Evaluating holds the event loop for so long, and for what one segment takes. */
const AT_A_TIME_MS = 10

/** A segment that is read; `heardFrom`: the first id of changes since it listens. */
type Tracked = TrackedRow & { audience: Audience; named: Named; heardFrom: string }
/** Audiences that a slice has read already, by segment and revision. */
export type Known = Map<string, Tracked>

/**
 * Outcome of a batch: another slice holds the project; it took too long; there are more changes; there are
 * none.
 */
type Followed = 'busy' | 'slow' | 'more' | 'done'

/**
 * Follows the first changes of the project, `size` at most, in one commit: loads their contacts once, evaluates the
 * tracked segments that name what has changed, and writes only who enters or leaves.
 */
export async function followBatch(ctx: Ctx, size: number, known: Known): Promise<Followed> {
  try {
    return await followFirst(ctx, size, known)
  } catch (error) {
    if (isTimeOut(error)) return 'slow'
    throw error
  }
}

async function followFirst(ctx: Ctx, size: number, known: Known): Promise<Followed> {
  const projectId = projectIdOf(ctx)
  const followed = await withMemberships(ctx, async (tx, now) => {
    const changes = await tx.sql(firstChanges, { projectId, limit: size })
    const topics = topicsByContact(changes)
    const segments = await askedSegments(tx, topics, known, now)
    const room = Math.ceil(MAX_PAIRS / Math.max(1, segments.length))
    const ids = [...topics.keys()].slice(0, room)
    const subjects = await subjectsFor(tx, ids, segments)
    const { moves, last } = await evaluate(tx, ids, { topics, segments, subjects, now })
    const revisions = new Map(segments.map(({ id, revision }) => [id, revision]))
    const { heard } = await applyMoves(tx, moves, { revisions, now })
    const done = new Set(ids.slice(0, last))
    const gone = changes.filter(({ contactId }) => done.has(contactId)).map(({ id }) => id)
    if (gone.length > 0) await tx.sql(removeChanges, { projectId, ids: gone })
    return heard.includes('SEGMENT') || changes.length === size || gone.length < changes.length
      ? 'more'
      : 'done'
  })
  return followed ?? 'busy'
}

/**
 * Leaves the first change to passes of the segments that ask for it: its contact takes too long, and the changes of others
 * go on.
 */
export async function leaveToPasses(ctx: Ctx): Promise<void> {
  const projectId = projectIdOf(ctx)
  await withMemberships(ctx, async (tx) => {
    const changes = await tx.sql(firstChanges, { projectId, limit: 1 })
    const asking = await askingSegments(tx, topicsByContact(changes))
    await tx.sql(askPasses, { projectId, segmentIds: asking.map(({ id }) => id) })
    await tx.sql(removeChanges, { projectId, ids: changes.map(({ id }) => id) })
    await askForChecks(tx)
    const contactIds = changes.map(({ contactId }) => contactId)
    tx.log.warn(
      { projectId, contactIds },
      'a change takes too long to follow; it is left to passes over all contacts',
    )
  })
}

function askingSegments(tx: Ctx, topics: Map<string, Topics>): Promise<TrackedRow[]> {
  const together = topicsTogether(topics.values())
  if (!together) return tx.sql(allTracked, { projectId: projectIdOf(tx) })
  return tx.sql(trackedThatAsk, { projectId: projectIdOf(tx), ...together })
}

/**
 * The segments that name what has changed. A segment that cannot be read is noted and left out: a pass
 * corrects it later.
 */
async function askedSegments(
  tx: Ctx,
  topics: Map<string, Topics>,
  known: Known,
  now: Date,
): Promise<Tracked[]> {
  if (topics.size === 0) return []
  const projectId = projectIdOf(tx)
  const rows = await askingSegments(tx, topics)
  const keyOf = ({ id, revision }: TrackedRow) => `${id} ${revision}`
  const unread = rows.filter((row) => !known.has(keyOf(row))).map(({ id }) => id)
  const conditions = unread.length > 0 ? await tx.sql(conditionsOf, { projectId, segmentIds: unread }) : []
  const conditionOf = new Map(conditions.map(({ id, condition }) => [id, condition]))
  const segments: Tracked[] = []
  for (const row of rows) {
    const read = known.get(keyOf(row)) ?? (await readSegment(tx, row, conditionOf.get(row.id) ?? null, now))
    if (!read) continue
    known.set(keyOf(row), read)
    segments.push({ ...read, ...row })
  }
  return segments
}

async function readSegment(
  tx: Ctx,
  row: TrackedRow,
  condition: JsonValue,
  now: Date,
): Promise<Tracked | null> {
  try {
    const audience = await audienceOf(tx, { id: row.id, condition })
    return { ...row, audience, named: namedBy(audience), heardFrom: heardFrom(row.listeningAt) }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    await reportTrouble(tx, row.id, error, now)
    return null
  }
}

/** Notes that a segment cannot be evaluated, and says so the first time. */
export async function reportTrouble(tx: Ctx, segmentId: string, error: unknown, now: Date): Promise<void> {
  const [news] = await tx.sql(noteTrouble, { projectId: projectIdOf(tx), segmentId, now })
  if (!news) return
  const advice = 'a segment cannot be evaluated; its members stay as they are; it is tried again every minute'
  tx.log.warn({ err: error, projectId: projectIdOf(tx), segmentId }, advice)
}

/** The contacts with all that the segments ask for. */
async function subjectsFor(tx: Ctx, ids: string[], segments: Tracked[]): Promise<Map<string, Subject>> {
  if (segments.length === 0) return new Map()
  const events = new Set(segments.flatMap(({ named }) => [...named.events]))
  const stored = new Set(segments.flatMap(({ id, named }) => [id, ...named.lists]))
  return await loadSubjects(tx, ids, { events: [...events], segments: [...stored] })
}

type Batch = { topics: Map<string, Topics>; segments: Tracked[]; subjects: Map<string, Subject>; now: Date }

/**
 * The first contacts that move: up to the place `last`, as far as one commit goes. One contact may take long: hundreds of
 * segments may search through all of its texts.
 */
async function evaluate(
  { services }: Ctx,
  ids: string[],
  batch: Batch,
): Promise<{ moves: Move[]; last: number }> {
  const began = performance.now()
  const moves: Move[] = []
  let since = began
  for (const [place, id] of ids.entries()) {
    for (const segment of concerned(id, batch)) {
      if (performance.now() - since > AT_A_TIME_MS) {
        await services.longSteps.next()
        since = performance.now()
      }
      const move = moveOf(id, segment, batch)
      if (move) moves.push(move)
    }
    const isEnough = moves.length >= MAX_MOVES || performance.now() - began > EVALUATE_MS
    if (isEnough) return { moves, last: place + 1 }
  }
  return { moves, last: ids.length }
}

/** The segments of which a contact may have become, or be no more, a member by its changes. */
function concerned(contactId: string, { topics, segments, subjects }: Batch): Tracked[] {
  const changed = topics.get(contactId)
  if (!changed || !subjects.has(contactId)) return []
  return segments.filter(
    (segment) => concerns(changed, segment.named) && !isLeftToPass(segment, contactId, changed),
  )
}

function moveOf(contactId: string, { id, audience }: Tracked, { subjects, now }: Batch): Move | null {
  const subject = subjects.get(contactId)
  if (!subject) return null
  const enters = matchTree(audience, subject, now)
  return enters === subject.segments.has(id) ? null : { segmentId: id, contactId, enters }
}

/**
 * Before a segment is filled, contacts that its first pass has yet to look at are left to it: they matched
 * before, unless something has happened since that the segment hears of.
 */
const isLeftToPass = (
  { isFilled, after, until, heardFrom }: Tracked,
  contactId: string,
  { lastChange }: Topics,
): boolean =>
  !isFilled &&
  lastChange < heardFrom &&
  (after === null || until === null || (contactId > after && contactId <= until))
