import { z } from 'zod'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable } from '../../db/sql.ts'
import { AppError, conflict, notFound } from '../../errors.ts'
import type { ContactJob as ContactJobRow, Prisma } from '../../generated/prisma/client.ts'
import type { ContactJobType } from '../../generated/prisma/enums.ts'
import { isId, newId } from '../../lib/ids.ts'
import type { JsonValue } from '../../lib/json.ts'
import type { JobQueue } from '../../queue/define-job.ts'
import { advanceJob, endJob, holdJob } from './contact-jobs.sql.ts'

/** Without its file, which has megabytes. */
export type ContactJob = Omit<ContactJobRow, 'file'>

/**
 * Works on one import or bulk job. A worker that dies is noticed by its heartbeat; whoever takes over goes on
 * where the last commit ended.
 */
export const contactJobQueue: JobQueue<{ projectId: string; jobId: string }> = {
  name: 'contacts.run-job',
  payload: z.object({ projectId: z.uuid(), jobId: z.uuid() }),
  options: {
    // The job itself says when it has failed; the queue only repeats it while the database is away.
    retryLimit: 1_000,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 30,
    heartbeatSeconds: 10,
    expireInSeconds: 12 * 3_600,
  },
}

export type NewJob = {
  type: ContactJobType
  file?: Uint8Array<ArrayBuffer>
  request?: Prisma.InputJsonObject
  total?: number
}

/** A waiting import holds its file. */
const MAX_UNFINISHED = 50

/**
 * Queues a job in one commit with its input. Returns its id. Throws RATE_LIMIT_EXCEEDED while the project has
 * many that have not ended.
 */
export async function createJob(ctx: Ctx, job: NewJob): Promise<string> {
  const projectId = projectIdOf(ctx)
  const unfinished = await ctx.db.contactJob.count({
    where: { projectId, state: { in: ['waiting', 'active'] } },
  })
  if (unfinished >= MAX_UNFINISHED) throw tooManyJobs()
  const now = ctx.now()
  const id = newId(now)
  await ctx.atomically(async (tx) => {
    await tx.db.contactJob.create({ data: { projectId, id, createdAt: now, ...job } })
    await tx.enqueue(contactJobQueue, { projectId, jobId: id })
  })
  return id
}

const tooManyJobs = () =>
  new AppError(
    'RATE_LIMIT_EXCEEDED',
    `${MAX_UNFINISHED} imports and bulk changes of the project have not ended.`,
    {
      suggestion: 'Wait until some have ended, or cancel them.',
      headers: { 'retry-after': '10' },
    },
  )

export const BULK_TYPES = ['SUBSCRIBE', 'UNSUBSCRIBE', 'DELETE'] as const satisfies ContactJobType[]
export type BulkType = (typeof BULK_TYPES)[number]

const ALL_TYPES: readonly ContactJobType[] = ['IMPORT', ...BULK_TYPES]

/** The job of the project with this id, if it is of one of these types. */
export async function getJob(
  ctx: Ctx,
  id: string,
  types: readonly ContactJobType[] = ALL_TYPES,
): Promise<ContactJob> {
  const projectId = projectIdOf(ctx)
  const job = isId(id)
    ? await ctx.db.contactJob.findUnique({ where: { projectId_id: { projectId, id } }, omit: { file: true } })
    : null
  if (!job || !types.includes(job.type)) throw notFound('The job')
  return job
}

/** Stops a job; what it has done stays done. Throws CONFLICT when it has ended. */
export async function cancelJob(ctx: Ctx, id: string): Promise<ContactJob> {
  const job = await getJob(ctx, id)
  const [ended] = await ctx.sql(endJob, [job.projectId, job.id, 'failed', 'Cancelled.', ctx.now()])
  if (!ended) throw conflict('The job has ended already.')
  return getJob(ctx, id)
}

/** Somebody else goes on with the job, or nobody does: whoever finds that out stops. */
class JobLost extends Error {}

export type Progress = { position: number; result: object; lastContact: string | null }

/**
 * Does a part of a job and notes in the same commit how far it is. `work` gets the result so far as it is stored:
 * meanwhile an address may have been taken out of it. Throws JobLost when the job is no longer this worker's.
 */
export async function advance(
  ctx: Ctx,
  job: ContactJob,
  from: number,
  work: (tx: Ctx, result: JsonValue) => Promise<Progress>,
): Promise<Progress> {
  return ctx.atomically(async (tx) => {
    const [held] = await tx.sql(holdJob, [job.projectId, job.id, from])
    if (!held) throw new JobLost('Another worker goes on with this job.')
    const to = await work(tx, held.result)
    const percent = job.total === 0 ? 0 : Math.min(99, Math.floor((to.position / job.total) * 100))
    await tx.sql(advanceJob, [
      ...[job.projectId, job.id, to.position, percent, JSON.stringify(to.result), to.lastContact],
    ])
    return to
  })
}

/** A reason to give a job up that its owner can do something about. */
export class JobRefused extends Error {}

/**
 * Runs a job to its end with what its type needs, and says how it ended. While the database is away the error
 * goes on to the queue, which tries again.
 */
export async function runJob(
  ctx: Ctx,
  id: string,
  work: (ctx: Ctx, job: ContactJob) => Promise<void>,
): Promise<void> {
  const projectId = projectIdOf(ctx)
  const { count } = await ctx.db.contactJob.updateMany({
    where: { projectId, id, state: { in: ['waiting', 'active'] } },
    data: { state: 'active' },
  })
  if (count === 0) return
  const failedReason = await work(ctx, await getJob(ctx, id)).then(
    () => null,
    (error: unknown) => reasonOf(ctx, id, error),
  )
  const state = failedReason === null ? 'completed' : 'failed'
  await ctx.sql(endJob, [projectId, id, state, failedReason, ctx.now()])
}

async function reasonOf(ctx: Ctx, id: string, error: unknown): Promise<string | null> {
  // Of a cancelled job the end has been noted. One that is still active must not be taken for done.
  if (error instanceof JobLost && (await getJob(ctx, id)).state !== 'active') return null
  if (error instanceof JobLost || isDatabaseUnavailable(error)) throw error
  if (error instanceof JobRefused) return error.message
  // Such as a filter whose segment has been deleted since.
  if (error instanceof AppError) return textOf(error)
  ctx.log.error({ err: error, requestId: ctx.requestId }, 'import or bulk job failed')
  return `Something went wrong on our side; the log has it under ${ctx.requestId}.`
}

function textOf({ message, extras }: AppError): string {
  const [first] = extras.errors ?? []
  return first ? `${first.field}: ${first.message}` : message
}
