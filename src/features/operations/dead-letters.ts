import type { Ctx } from '../../ctx.ts'
import { untilFewer } from '../../lib/async/until-fewer.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { type DeadMail, latestDeadMail, type MailCounts, mailCounts, putBack } from './dead-letters.sql.ts'

/** Messages per statement: short enough that no worker waits for the locks. */
const BATCH = 1_000
const FIRST = '00000000-0000-0000-0000-000000000000'

/** Mail of all projects that waits, that is being handed over, and that was given up. */
export async function countMail(ctx: Ctx): Promise<MailCounts> {
  const [counts] = await ctx.sql(mailCounts, { projectId: null, clockShift: ctx.services.clockShift() })
  if (!counts) throw new Error('mail-counts returned no row')
  return counts
}

/** Mail that was given up, latest first, of one project or of all. */
export async function listDeadMail(
  ctx: Ctx,
  input: { projectId: string | null; limit: number },
): Promise<DeadMail[]> {
  return ctx.sql(latestDeadMail, input)
}

export type RedrivenMail = {
  redriven: number
  /** Left as they are: their content has been removed at the end of its retention. */
  withoutContent: number
  /** Those of the given ids that are no failed mail. */
  notFailed: string[]
}

/** Delivers failed mail once more, with all its attempts before it. No ids: all failed mail. */
export async function redriveMail(
  ctx: Ctx,
  input: { projectId: string | null; ids: string[] | null },
): Promise<RedrivenMail> {
  const result: RedrivenMail = { redriven: 0, withoutContent: 0, notFailed: [] }
  const notMet = new Set(input.ids)
  const projects = new Set<string>()
  let last = { projectId: FIRST, id: FIRST }
  await untilFewer(BATCH, async () => {
    const batch = await ctx.sql(putBack, {
      ...input,
      afterProject: last.projectId,
      afterEmail: last.id,
      limit: BATCH,
      now: ctx.now(),
      clockShift: ctx.services.clockShift(),
    })
    for (const { projectId, id, redriven } of batch) {
      notMet.delete(id)
      if (redriven) {
        result.redriven += 1
        projects.add(projectId)
      } else result.withoutContent += 1
    }
    last = batch.at(-1) ?? last
    return batch.length
  })
  for (const projectId of projects) ctx.services.work.ask(mailDeliveryWork, { projectId, standing: 'left' })
  return { ...result, notFailed: [...notMet] }
}
