import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { newId, timeOfId } from '../../lib/ids.ts'
import { watchReputation } from '../reputation/reputation-work.ts'
import { suppressAddresses } from '../suppressions/suppressions.ts'
import { noteHits } from '../tracking/reported-hits.ts'
import { isTracked } from '../tracking/track-message.ts'
import { applyOutcomes, contactsOfSoftBounces, unsubscribeReported } from './apply-reports.sql.ts'
import {
  firstReports,
  lockReported,
  lockReports,
  postponeReports,
  removeReports,
} from './notifications.sql.ts'
import { type Outcome, outcomeOf, type ReportedMail, type ReportRow } from './outcome.rules.ts'

/** Reports of one commit. */
const BATCH = 500
/** How long to wait for the end of a hand-over, and for one of which nothing is known yet. */
const HANDING_OVER_MS = 1_000
const UNKNOWN_MS = 60_000
/** After this time nobody hands the message over any more that a report is about. */
const GIVE_UP_MS = 10 * 60_000

/** Messages in a row that are turned away, and the days from the first to the last of them, until their address is suppressed. */
const SOFT_BOUNCES = { most: 5, days: 3 }

/** Applies reports of the project's mail, as many as belong into one commit. */
export const applyReports = (ctx: Ctx): Promise<'more' | 'done' | 'busy'> =>
  ctx.atomically(async (tx) => {
    const projectId = projectIdOf(tx)
    const clockShift = tx.services.clockShift()
    const [lock] = await tx.sql(lockReports, { projectId })
    if (!lock?.locked) return 'busy'
    const rows = await tx.sql(firstReports, { projectId, limit: BATCH, clockShift })
    if (rows.length === 0) return 'done'
    const handingOver = rows.filter(({ isTaken }) => isTaken)
    const unknown = rows.filter(({ mailId, isTaken }) => mailId === null && !isTaken)
    const ready = rows.filter(({ mailId, isTaken }) => mailId !== null && !isTaken)
    const young = unknown.filter(({ id }) => timeOfId(id).getTime() > tx.now().getTime() - GIVE_UP_MS)
    const unmatched = unknown.filter((row) => !young.includes(row)).map(({ id }) => id)
    await postpone(tx, handingOver, HANDING_OVER_MS)
    await postpone(tx, young, UNKNOWN_MS)
    if (ready.length > 0) await apply(tx, ready)
    const done = [...ready.map(({ id }) => id), ...unmatched]
    if (done.length > 0) await tx.sql(removeReports, { projectId, ids: done, unmatched })
    return rows.length === BATCH ? 'more' : 'done'
  })

async function postpone(tx: Ctx, rows: ReportRow[], delayMs: number): Promise<void> {
  if (rows.length === 0) return
  const clockShift = tx.services.clockShift()
  await tx.sql(postponeReports, {
    projectId: projectIdOf(tx),
    ids: rows.map(({ id }) => id),
    delayMs,
    clockShift,
  })
}

async function apply(tx: Ctx, rows: ReportRow[]): Promise<void> {
  const projectId = projectIdOf(tx)
  const byMail = Map.groupBy(rows, ({ mailId }) => mailId ?? '')
  const mails = await tx.sql(lockReported, { projectId, ids: [...byMail.keys()] })
  const now = tx.now()
  const outcomes = mails.map((mail) => outcomeOf(mail, byMail.get(mail.id) ?? [], now))
  const [applied] = await tx.sql(applyOutcomes, { projectId, now, ...paramsOf(outcomes) })
  wakeFollowers(tx, applied ? [applied] : [])
  await changeContacts(tx, outcomes)
  await noteHits(
    tx,
    mails.flatMap((mail) => hitsOf(mail, byMail.get(mail.id) ?? [])),
  )
  if (outcomes.some(({ bounced, complained }) => bounced + complained > 0)) await watchReputation(tx)
}

function paramsOf(outcomes: Outcome[]) {
  const events = outcomes.flatMap((outcome) =>
    outcome.events.map((event) => ({ ...event, mailId: outcome.id })),
  )
  return {
    mailIds: outcomes.map(({ id }) => id),
    statuses: outcomes.map(({ status }) => status),
    deliveredAt: outcomes.map(({ deliveredAt }) => deliveredAt),
    bouncedAt: outcomes.map(({ bouncedAt }) => bouncedAt),
    softBouncedAt: outcomes.map(({ softBouncedAt }) => softBouncedAt),
    complainedAt: outcomes.map(({ complainedAt }) => complainedAt),
    rejectedAt: outcomes.map(({ rejectedAt }) => rejectedAt),
    wereGivenUp: outcomes.map(({ wasGivenUp }) => wasGivenUp),
    errors: outcomes.map(({ error }) => error),
    delivered: outcomes.map(({ delivered }) => delivered),
    bounced: outcomes.map(({ bounced }) => bounced),
    complained: outcomes.map(({ complained }) => complained),
    eventIds: events.map(({ id }) => id),
    eventMailIds: events.map(({ mailId }) => mailId),
    eventNames: events.map(({ name }) => name),
    eventData: events.map(({ data }) => JSON.stringify(data)),
    eventTimes: events.map(({ at }) => at),
  }
}

/** Unsubscribes and suppresses those who must not, or do not want to, be written to. */
async function changeContacts(tx: Ctx, outcomes: Outcome[]): Promise<void> {
  const projectId = projectIdOf(tx)
  const leaving = outcomes.flatMap(({ id, unsubscribedBy }) =>
    unsubscribedBy ? [{ id, source: unsubscribedBy }] : [],
  )
  if (leaving.length > 0) {
    const rows: { heard: Consumer[] }[] = await tx.sql(unsubscribeReported, {
      projectId,
      now: tx.now(),
      mailIds: leaving.map(({ id }) => id),
      eventIds: leaving.map(() => newId(tx.now())),
      sources: leaving.map(({ source }) => source),
    })
    wakeFollowers(tx, rows)
  }
  const softly = outcomes.filter(({ isSoftBounce }) => isSoftBounce).map(({ id }) => id)
  const inRow =
    softly.length > 0
      ? await tx.sql(contactsOfSoftBounces, { projectId, mailIds: softly, ...SOFT_BOUNCES })
      : []
  const ended = new Set(inRow.map(({ mailId }) => mailId))
  await suppressAddresses(tx, [
    ...outcomes.flatMap(({ id, toEmail, suppressedFor }) =>
      suppressedFor ? [{ email: toEmail, reason: suppressedFor, emailId: id }] : [],
    ),
    ...outcomes
      .filter(({ id }) => ended.has(id))
      .map(({ id, toEmail }) => ({ email: toEmail, reason: 'SOFT_BOUNCES' as const, emailId: id })),
  ])
}

/** Opens and clicks as the provider counts them, of messages that are not tracked here. */
function hitsOf({ id, tracking, type }: ReportedMail, reports: ReportRow[]) {
  if (isTracked(tracking, type)) return []
  return reports
    .filter(({ kind, link }) => kind === 'OPENED' || (kind === 'CLICKED' && link !== null))
    .map(({ at, link, machine }) => ({ emailId: id, at, link, machine }))
}
