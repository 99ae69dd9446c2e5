import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable, isTimeOut, limitTime } from '../../db/sql.ts'
import { AppError } from '../../errors.ts'
import type { JsonValue } from '../../lib/json.ts'
import type { SliceResult } from '../../queue/define-work.ts'
import { advanceJob, endJob, holdJob, slowJob, takeJob } from './contact-jobs.sql.ts'
import { type ContactJob, getJob } from './contact-jobs.ts'
import { type Place, START } from './csv/csv.ts'

/** Does a part of a job: chunk after chunk as long as there is time, and says whether that was all. */
export type JobRunner = (ctx: Ctx, job: ContactJob, hasTime: () => boolean) => Promise<'done' | 'more'>

/** A reason to give a job up that its owner can do something about. */
export class JobRefused extends Error {}

/** Thrown when another worker goes on with the job, or the job was cancelled: this worker leaves it. */
class JobLost extends Error {}

/** So long a chunk may take; one that takes longer is tried again with less in it. */
const CHUNK_TIMEOUT_MS = 5_000
/** A chunk that took less may have more in it the next time. */
const QUICK_MS = 500
const MAX_STEP = 500
/** Most time-outs in a row; after each of them the chunk is an eighth as large. */
const MAX_SLOW_TRIES = 5

/** How far a job is; an import has a place in its file, a change by a filter a last contact. */
export type Progress = { position: number; result: object; lastContact: string | null; place?: Place }

/**
 * Does a part of a job and notes in the same commit how far it is. `work` gets the result so far as it is stored:
 * meanwhile an address may have been taken out of it. Throws JobLost when the job is no longer where it was.
 */
export async function advance(
  ctx: Ctx,
  job: ContactJob,
  from: number,
  work: (tx: Ctx, result: JsonValue) => Promise<Progress>,
): Promise<void> {
  const { projectId, id } = job
  const began = performance.now()
  await ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(CHUNK_TIMEOUT_MS) })
    const [held] = await tx.sql(holdJob, { projectId, id, position: from })
    if (!held) throw new JobLost('Another worker goes on with this job.')
    const { position, result, lastContact, place = START } = await work(tx, held.result)
    const percent = job.total === 0 ? 0 : Math.min(99, Math.floor((position / job.total) * 100))
    const isQuick = performance.now() - began < QUICK_MS
    await tx.sql(advanceJob, {
      projectId,
      id,
      position,
      progress: percent,
      result: JSON.stringify(result),
      lastContact,
      fileOffset: place.offset,
      fileRow: place.row,
      stepSize: isQuick ? Math.min(MAX_STEP, job.stepSize * 2) : job.stepSize,
    })
  })
}

/**
 * Works on the project's imports and bulk changes, the one that has waited longest first, so that a short one is
 * not behind a long one.
 */
export async function workOnJobs(ctx: Ctx, hasTime: () => boolean, run: JobRunner): Promise<SliceResult> {
  do {
    const [taken] = await ctx.sql(takeJob, { projectId: projectIdOf(ctx) })
    if (!taken) return 'done'
    await workOnJob(ctx, await getJob(ctx, taken.id), hasTime, run)
  } while (hasTime())
  return 'more'
}

async function workOnJob(ctx: Ctx, job: ContactJob, hasTime: () => boolean, run: JobRunner): Promise<void> {
  const { projectId, id } = job
  const end = (state: 'completed' | 'failed', failedReason: string | null) =>
    ctx.sql(endJob, { projectId, id, state, failedReason, now: ctx.now() })
  try {
    if ((await run(ctx, job, hasTime)) === 'done') await end('completed', null)
  } catch (error) {
    if (error instanceof JobLost) return
    if (isTimeOut(error)) {
      const [slow] = await ctx.sql(slowJob, { projectId, id })
      if (slow && slow.tries >= MAX_SLOW_TRIES) await end('failed', TOO_SLOW)
      return
    }
    if (isDatabaseUnavailable(error)) throw error
    await end('failed', reasonOf(ctx, error))
  }
}

const TOO_SLOW =
  'It took the database too long, however little was done at a time. Try again later, or with fewer conditions.'

function reasonOf(ctx: Ctx, error: unknown): string {
  if (error instanceof JobRefused) return error.message
  // An error such as a filter whose segment has been deleted since.
  if (error instanceof AppError) return textOf(error)
  ctx.log.error({ err: error, requestId: ctx.requestId }, 'import or bulk job failed')
  return `Something went wrong on our side; the log has it under ${ctx.requestId}.`
}

function textOf({ message, extras }: AppError): string {
  const [first] = extras.errors ?? []
  return first ? `${first.field}: ${first.message}` : message
}
