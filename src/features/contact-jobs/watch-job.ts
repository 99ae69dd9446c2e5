import { watch } from '../../admission/watch.ts'
import type { Ctx } from '../../ctx.ts'
import type { ContactJobType } from '../../generated/prisma/enums.ts'
import { type ContactJob, getJob } from './contact-jobs.ts'

/** A job as it is now, then at every change, until it has ended. Throws what `getJob` throws. */
export const watchJob = (
  ctx: Ctx,
  id: string,
  types: readonly ContactJobType[],
): Promise<AsyncIterableIterator<ContactJob>> =>
  watch(ctx, {
    read: () => getJob(ctx, id, types),
    stateOf: ({ state, progress, position }) => [state, progress, position],
    isOver: ({ state }) => state === 'completed' || state === 'failed',
  })
