import { setTimeout as pause } from 'node:timers/promises'
import { assertStillAdmitted } from '../../access.ts'
import type { Ctx } from '../../ctx.ts'
import { tooManyFollowers } from '../../errors.ts'
import type { ContactJobType } from '../../generated/prisma/enums.ts'
import { type ContactJob, getJob } from './contact-jobs.ts'

const LOOK_EVERY_MS = 300
/** Each costs a look by key every LOOK_EVERY_MS. */
const MAX_FOLLOWERS = 100

let followers = 0

/**
 * A job as it is now, then at every change, until it has ended. Throws what `getJob` throws, and ends with an
 * error when the key that asks is rotated. Works across processes: it looks at the job's row.
 */
export async function followJob(
  ctx: Ctx,
  id: string,
  types: readonly ContactJobType[],
): Promise<AsyncGenerator<ContactJob>> {
  // What is wrong with the request is the answer to it, not the first event.
  const job = await getJob(ctx, id, types)
  if (followers >= MAX_FOLLOWERS) throw tooManyFollowers()
  return changesOf(ctx, job, types)
}

async function* changesOf(
  ctx: Ctx,
  first: ContactJob,
  types: readonly ContactJobType[],
): AsyncGenerator<ContactJob> {
  followers += 1
  try {
    for (let job = first, told = ''; ; job = await getJob(ctx, first.id, types)) {
      const state = JSON.stringify([job.state, job.progress, job.position])
      if (state !== told) yield job
      told = state
      if (job.state === 'completed' || job.state === 'failed') return
      await pause(LOOK_EVERY_MS)
      await assertStillAdmitted(ctx.services.keyRing, ctx.actor)
    }
  } finally {
    followers -= 1
  }
}
