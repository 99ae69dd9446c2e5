const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Work that has time takes at most a twentieth of it, of a project's segments together. */
export const SHARE = 20
const COUNT_EVERY_MS = 5 * MINUTE
/** Tracked segments follow the changes of contacts; these passes find what may have been missed. */
const RECOMPUTE_EVERY_MS = 60 * MINUTE
/** How often a segment is tried that could not be evaluated. */
const RETRY_EVERY_MS = MINUTE
/**
 * For this time a pass over a new segment, or condition, is left to its author, who may ask for it and for
 * its result.
 */
const SETTLE_MS = 300
/** How often it is looked for windows that have passed. */
export const WINDOWS_EVERY_MS = 30 * SECOND

/**
 * How long a pass waits for transactions that began before the segment listened, and how often it looks
 * whether they ended.
 */
const WAIT_MS = MINUTE
const LOOK_EVERY_MS = 100

/** The columns of a segment that tell what it needs. */
export const SEGMENT_STATE = {
  ...{
    id: true,
    type: true,
    trackMembership: true,
    pass: true,
    passAsked: true,
    passAfter: true,
    passIsSlow: true,
  },
  ...{ computedAt: true, countedAt: true, troubledAt: true, updatedAt: true },
  ...{ listeningXid: true, listeningAt: true, passHeldUntil: true },
} as const

export type SegmentState = {
  id: string
  type: 'DYNAMIC' | 'STATIC'
  trackMembership: boolean
  pass: number
  passAsked: number
  passAfter: string | null
  passIsSlow: boolean
  computedAt: Date | null
  countedAt: Date | null
  troubledAt: Date | null
  updatedAt: Date
  listeningXid: bigint | null
  listeningAt: Date | null
  passHeldUntil: Date | null
}

/** The time, and the oldest transaction that is under way. */
export type Moment = { now: number; oldestXid: bigint }

/**
 * The next part of a pass over all contacts, a count of stored members, or a look for windows that have
 * passed; `at` says when it is due. An urgent duty does not wait for its share of the time.
 */
export type Duty =
  | { task: 'pass' | 'count'; segmentId: string; isUrgent: boolean; at: number }
  | { task: 'windows'; isUrgent: false; at: number }

const isDynamic = ({ type }: SegmentState): boolean => type === 'DYNAMIC'

/** A caller waits for the pass: it was asked for, or the condition is new. */
const isUrgent = ({ pass, passAsked, passAfter, passIsSlow }: SegmentState): boolean =>
  passAsked > pass || (passAfter !== null && !passIsSlow)

const after = (time: Date | null, pause: number): number => (time === null ? 0 : time.getTime() + pause)

/** `askPass` asks for the pass after the next one, and so for one at once. Clocks may be ahead: then it is not waited. */
function settledAt({ pass, passAsked, passAfter, updatedAt }: SegmentState, now: number): number {
  const isAskedFor = passAsked > pass + 1 || passAfter !== null || updatedAt.getTime() > now
  return isAskedFor ? 0 : updatedAt.getTime() + SETTLE_MS
}

/**
 * When a pass may begin. Transactions that began before the segment listened did not record their changes for
 * it, so the pass has to see those. It does not wait for one that never ends; another pass follows when that
 * one has ended.
 */
function heardAt({ passAfter, listeningXid, listeningAt }: SegmentState, { now, oldestXid }: Moment): number {
  if (passAfter !== null || listeningXid === null || listeningXid < oldestXid) return 0
  return Math.min(after(listeningAt, WAIT_MS), now + LOOK_EVERY_MS)
}

/**
 * When a pass is repeated to see the transactions that the last one did not wait for; never, when there were
 * none.
 */
const repeatedAt = ({ listeningXid }: SegmentState, { now, oldestXid }: Moment): number =>
  listeningXid === null ? Number.POSITIVE_INFINITY : listeningXid < oldestXid ? 0 : now + WAIT_MS

/** The duties of a segment, and when they are due. */
function dutiesOf(segment: SegmentState, moment: Moment): Duty[] {
  const duty = (task: 'pass' | 'count', at: number, urgent = false): Duty => ({
    ...{ task, segmentId: segment.id, isUrgent: urgent },
    at: task === 'pass' ? Math.max(at, after(segment.passHeldUntil, 0)) : at,
  })
  const { now } = moment
  const { trackMembership, troubledAt, passAfter, computedAt, countedAt } = segment
  if (!isDynamic(segment)) return [duty('count', after(countedAt, COUNT_EVERY_MS))]
  if (troubledAt !== null) return [duty('pass', after(troubledAt, RETRY_EVERY_MS))]
  if (isUrgent(segment))
    return [duty('pass', Math.max(settledAt(segment, now), heardAt(segment, moment)), true)]
  if (passAfter !== null) return [duty('pass', 0)]
  // The number moves with the members, but not when a contact is deleted.
  if (!trackMembership) return [duty('pass', after(countedAt, COUNT_EVERY_MS))]
  return [
    duty('pass', Math.min(after(computedAt, RECOMPUTE_EVERY_MS), repeatedAt(segment, moment))),
    duty('count', after(countedAt, COUNT_EVERY_MS)),
  ]
}

const rankOf = ({ isUrgent: urgent, task }: Duty): number => (urgent ? 0 : task === 'windows' ? 1 : 2)

/**
 * The next duty for a project's segments: urgent ones first, then windows, which are late at once, then the
 * one that is due for longest. Duties that are not due yet come last.
 */
export function nextDuty(segments: SegmentState[], windowsAt: number, moment: Moment): Duty | null {
  const { now } = moment
  const duties = segments.flatMap((segment) => dutiesOf(segment, moment))
  if (segments.some(({ trackMembership }) => trackMembership)) {
    duties.push({ task: 'windows', isUrgent: false, at: windowsAt })
  }
  const due = duties.filter(({ at }) => at <= now)
  const byRank = (one: Duty, other: Duty) => rankOf(one) - rankOf(other) || one.at - other.at
  return due.toSorted(byRank)[0] ?? duties.toSorted((one, other) => one.at - other.at)[0] ?? null
}
