import { monthOf } from '../../admission/metering/permits.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notifyAdmins } from '../service-mail/service-mail.ts'
import { WARNING_PERCENT } from './limits.ts'
import { foldBillingTallies, takeWarnings } from './usage.sql.ts'

/** Rows that one commit folds. */
const MAX_FOLDED = 5_000

/** Adds what is counted apart to the usage, and warns of caps that it comes near. Returns whether there is more to add. */
export async function countUsage(ctx: Ctx): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    const [row] = await tx.sql(foldBillingTallies, { projectId, limit: MAX_FOLDED })
    await warn(tx)
    return row?.folded === MAX_FOLDED
  })
}

/** Once in a month for each category, because the commit that marks it asks for the mails. */
async function warn(tx: Ctx): Promise<void> {
  const projectId = projectIdOf(tx)
  const now = tx.now()
  const near = await tx.sql(takeWarnings, { projectId, month: monthOf(now), percent: WARNING_PERCENT, now })
  if (near.length === 0) return
  const { name } = await tx.db.project.findUniqueOrThrow({ where: { id: projectId } })
  for (const { category, limit, usage } of near) {
    const messages = `messages of the category ${category.toLowerCase()}`
    await notifyAdmins(tx, projectId, {
      subject: `${name} comes near its limit`,
      paragraphs: [
        `The project ${name} has used ${usage} of the ${limit} ${messages} that its limit allows in this month (UTC).`,
        'When the limit is reached, no more are sent until the next month. You can raise it in the settings of billing.',
      ],
    })
  }
}
