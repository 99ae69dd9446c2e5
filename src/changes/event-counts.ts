import { type Ctx, projectIdOf } from '../ctx.ts'
import { lockCounts, type Recount, uncountEvents } from './event-counts.sql.ts'

export const NEVER_COUNTED: Recount = {
  ...{ settledUntil: new Date(0), version: 0, countedAt: null, tookMs: 0, openCount: 0 },
}

/** Until the commit no other transaction can commit a change of the project's event counts. */
export const lockEventCounts = async (tx: Ctx): Promise<Recount> =>
  (await tx.sql(lockCounts, { projectId: projectIdOf(tx), now: tx.now() }))[0] ?? NEVER_COUNTED

/** Takes events of contacts that are going to be deleted in the same commit out of the counts: all, or up to an id. */
export async function uncountContacts(
  tx: Ctx,
  contactIds: string[],
  upTo: string | null = null,
): Promise<void> {
  await lockEventCounts(tx)
  await tx.sql(uncountEvents, { projectId: projectIdOf(tx), contactIds, upTo })
}
