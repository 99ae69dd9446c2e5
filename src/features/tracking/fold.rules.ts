import { earliestId, newId, timeOfId } from '../../lib/ids.ts'
import { JUDGED_AFTER_MS, judgeHits } from './machines.rules.ts'

/** Opens and clicks of one message that are recorded, of persons and machines together. */
export const MAX_HITS_OF_MAIL = 1_000
/** Events are counted for good some days later; what waited for longer than this is dated later than it was. */
const MAX_LATE_MS = 24 * 3_600_000

/** An open, or with a link a click, that is not counted yet. */
export type HitRow = { emailId: string; id: string; link: string | null; links: number; machine: boolean }

/** A message as far as it is counted. */
export type MailRow = { id: string; sentAt: Date | null; opens: number; clicks: number; hits: number }

/** What hits of one message come to. */
export type FoldedMail = {
  id: string
  opens: number
  clicks: number
  hits: number
  openedAt: Date | null
  clickedAt: Date | null
  events: { id: string; name: string; data: string; at: Date }[]
}

/** Hits with ids below it are ripe to be judged. */
export const ripeBefore = (now: Date): string => earliestId(new Date(now.getTime() - JUDGED_AFTER_MS))

/** `rows` are hits of the message in the order of time. */
export function foldMail(mail: MailRow, rows: readonly HitRow[], now: Date): FoldedMail {
  const hits = rows.map((row) => ({ ...row, at: timeOfId(row.id).getTime() }))
  const byMachine = judgeHits(hits, mail.sentAt?.getTime() ?? null)
  const folded: FoldedMail = { id: mail.id, ...EMPTY, events: [] }
  for (const [index, { at, link }] of hits.entries()) {
    if (mail.hits + folded.hits === MAX_HITS_OF_MAIL) break
    folded.hits += 1
    const bot = byMachine[index] === true
    const time = new Date(Math.max(at, now.getTime() - MAX_LATE_MS))
    const isFirst = !bot && (link === null ? mail.opens + folded.opens : mail.clicks + folded.clicks) === 0
    const data = { ...(link !== null && { link }), isFirst, ...(bot && { bot }) }
    const name = link === null ? 'email.open' : 'email.click'
    folded.events.push({ id: newId(time), name, data: JSON.stringify(data), at: time })
    if (bot) continue
    if (link === null) {
      folded.opens += 1
      folded.openedAt ??= time
    } else {
      folded.clicks += 1
      folded.clickedAt ??= time
    }
  }
  return folded
}

const EMPTY = { opens: 0, clicks: 0, hits: 0, openedAt: null, clickedAt: null }
