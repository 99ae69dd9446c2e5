import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { type FoldedMail, foldMail, type HitRow, ripeBefore } from './fold.rules.ts'
import { firstHits, foldHits as fold, lockFolding, lockMail } from './hits.sql.ts'

/** Hits of one commit. */
const BATCH = 500

/**
 * Counts opens and clicks of the project and records their events, as many as belong into one commit. Those of the last
 * seconds wait: what follows them may tell that a machine made them.
 */
export const foldHits = (ctx: Ctx): Promise<'more' | 'done' | 'busy'> =>
  ctx.atomically(async (tx) => {
    const projectId = projectIdOf(tx)
    const now = tx.now()
    const [lock] = await tx.sql(lockFolding, { projectId })
    if (!lock?.locked) return 'busy'
    const rows = await tx.sql(firstHits, { projectId, before: ripeBefore(now), limit: BATCH })
    const isFull = rows.length === BATCH
    const byMail = wholeMails(rows, isFull)
    if (byMail.size === 0) return 'done'
    const mails = await tx.sql(lockMail, { projectId, ids: [...byMail.keys()] })
    const folded = mails.map((mail) => foldMail(mail, byMail.get(mail.id) ?? [], now))
    const removed = [...byMail.values()].flat()
    const [result] = await tx.sql(fold, { projectId, now, ...paramsOf(folded), ...hitParams(removed) })
    wakeFollowers(tx, result ? [result] : [])
    return isFull ? 'more' : 'done'
  })

/** The last message of a full batch may have more hits, and is left to the next one. */
function wholeMails(rows: HitRow[], isFull: boolean): Map<string, HitRow[]> {
  const byMail = Map.groupBy(rows, ({ emailId }) => emailId)
  const last = rows.at(-1)
  if (isFull && last && byMail.size > 1) byMail.delete(last.emailId)
  return byMail
}

const hitParams = (hits: HitRow[]) => ({
  hitMailIds: hits.map(({ emailId }) => emailId),
  hitIds: hits.map(({ id }) => id),
})

function paramsOf(mails: FoldedMail[]) {
  const events = mails.flatMap((mail) => mail.events.map((event) => ({ ...event, mailId: mail.id })))
  return {
    mailIds: mails.map(({ id }) => id),
    opens: mails.map(({ opens }) => opens),
    clicks: mails.map(({ clicks }) => clicks),
    hits: mails.map(({ hits }) => hits),
    openedAt: mails.map(({ openedAt }) => openedAt),
    clickedAt: mails.map(({ clickedAt }) => clickedAt),
    eventIds: events.map(({ id }) => id),
    eventMailIds: events.map(({ mailId }) => mailId),
    eventNames: events.map(({ name }) => name),
    eventData: events.map(({ data }) => data),
    eventTimes: events.map(({ at }) => at),
  }
}
