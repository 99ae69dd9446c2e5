import type { Ctx } from '../../ctx.ts'
import { type DeadMail, latestDeadMail, type MailCounts, mailCounts, putBack } from './dead-letters.sql.ts'

/** The name under which the delivery queue, which is the `emails` table, stands beside the queues of jobs. */
export const MAIL_QUEUE = 'emails.deliver'

/** Messages per statement: short enough that no worker waits for the locks. */
const BATCH = 1_000
const FIRST = '00000000-0000-0000-0000-000000000000'

/** Mail of all projects that waits, that is being handed over, and that was given up. */
export async function countMail(ctx: Ctx): Promise<MailCounts> {
  const [counts] = await ctx.sql(mailCounts, [null])
  if (!counts) throw new Error('mail-counts returned no row')
  return counts
}

/** Mail that was given up, latest first, of one project or of all. */
export async function listDeadMail(
  ctx: Ctx,
  input: { projectId: string | null; limit: number },
): Promise<DeadMail[]> {
  return ctx.sql(latestDeadMail, [input.projectId, input.limit])
}

export type RedrivenMail = {
  redriven: number
  /** Left as they are: their content has been removed at the end of its retention. */
  withoutContent: number
  /** Of the ids given, those that are no failed mail. */
  notFailed: string[]
}

/** Delivers failed mail once more, with all its attempts before it. No ids: all failed mail. */
export async function redriveMail(
  ctx: Ctx,
  input: { projectId: string | null; ids: string[] | null },
): Promise<RedrivenMail> {
  const result: RedrivenMail = { redriven: 0, withoutContent: 0, notFailed: [] }
  const notMet = new Set(input.ids)
  let last = { projectId: FIRST, id: FIRST }
  let considered = BATCH
  while (considered === BATCH) {
    const values = [ctx.now(), input.projectId, input.ids, last.projectId, last.id, BATCH]
    const batch = await ctx.sql(putBack, values)
    for (const { id, redriven } of batch) {
      notMet.delete(id)
      if (redriven) result.redriven += 1
      else result.withoutContent += 1
    }
    last = batch.at(-1) ?? last
    considered = batch.length
  }
  if (result.redriven > 0) ctx.services.wakeUp.notify()
  return { ...result, notFailed: [...notMet] }
}
