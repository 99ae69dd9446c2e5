import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../../ctx.ts'
import { invalidApiKey } from '../../errors.ts'
import type { ContactJobType } from '../../generated/prisma/enums.ts'
import { type ContactJob, getJob } from './contact-jobs.ts'

const LOOK_EVERY_MS = 300

/**
 * A job as it is now, then at every change, until it has ended. Throws what `getJob` throws, and ends with an
 * error when the key that asks is rotated. Works across processes: it looks at the job's row.
 */
export async function followJob(
  ctx: Ctx,
  id: string,
  types: readonly ContactJobType[],
): Promise<AsyncIterableIterator<ContactJob>> {
  // An error of the request is its answer, not the first event.
  const job = await getJob(ctx, id, types)
  const leaving = new AbortController()
  const changes = changesOf(ctx, job, types, leaving.signal)
  const following: AsyncIterableIterator<ContactJob> = {
    next: () => changes.next(),
    // A generator would hear of it at its next value only, and a job may not change for a long time.
    return: () => {
      leaving.abort()
      return changes.return(undefined)
    },
    [Symbol.asyncIterator]: () => following,
  }
  return following
}

async function* changesOf(
  ctx: Ctx,
  first: ContactJob,
  types: readonly ContactJobType[],
  signal: AbortSignal,
): AsyncGenerator<ContactJob> {
  for (let job = first, told = ''; ; job = await getJob(ctx, first.id, types)) {
    const state = JSON.stringify([job.state, job.progress, job.position])
    if (state !== told) yield job
    told = state
    if (job.state === 'completed' || job.state === 'failed') return
    await pause(LOOK_EVERY_MS)
    if (signal.aborted) return
    await assertKeyHolds(ctx)
  }
}

/** A disabled project may still look. */
async function assertKeyHolds({ actor, services }: Ctx): Promise<void> {
  if (actor.kind !== 'key') return
  if (!(await services.keyRing.lookUp(actor.keyKind, actor.keyHash))) throw invalidApiKey()
}
