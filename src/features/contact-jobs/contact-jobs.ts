import { lockQuotaOf } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError, conflict, notFound } from '../../errors.ts'
import type { ContactJob as ContactJobRow, Prisma } from '../../generated/prisma/client.ts'
import type { ContactJobType, JobState } from '../../generated/prisma/enums.ts'
import { isId, newId } from '../../lib/ids.ts'
import { workKind } from '../../queue/job-queue.ts'
import { endJob } from './contact-jobs.sql.ts'

/** A job without its file and the survey of it, which have megabytes. */
export type ContactJob = Omit<ContactJobRow, 'file' | 'survey'>

/** The project has imports or bulk changes to do. */
export const contactJobWork = workKind('contacts.run-jobs')

export type NewJob = {
  type: ContactJobType
  file?: Uint8Array<ArrayBuffer>
  request?: Prisma.InputJsonObject
  total?: number
  upTo?: string | null
}

/** A waiting import holds its file. */
const MAX_UNFINISHED = 50
const UNFINISHED: JobState[] = ['waiting', 'active']

/**
 * Queues a job in one commit with its input. Returns its id. Throws RATE_LIMIT_EXCEEDED while the project has
 * many that have not ended.
 */
export async function createJob(ctx: Ctx, job: NewJob): Promise<string> {
  const projectId = projectIdOf(ctx)
  const now = ctx.now()
  const id = newId(now)
  await ctx.atomically(async (tx) => {
    await lockQuotaOf(tx, 'unfinished contact jobs')
    const where = { projectId, state: { in: UNFINISHED } }
    if ((await tx.db.contactJob.count({ where })) >= MAX_UNFINISHED) throw tooManyJobs()
    await tx.db.contactJob.create({ data: { projectId, id, createdAt: now, ...job } })
    tx.requestWork(contactJobWork)
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
    ? await ctx.db.contactJob.findUnique({
        where: { projectId_id: { projectId, id } },
        omit: { file: true, survey: true },
      })
    : null
  if (!job || !types.includes(job.type)) throw notFound('The job')
  return job
}

/** Stops a job; the work that it has done stays done. Throws CONFLICT when it has ended. */
export async function cancelJob(ctx: Ctx, id: string): Promise<ContactJob> {
  const job = await getJob(ctx, id)
  const [ended] = await ctx.sql(endJob, {
    projectId: job.projectId,
    id: job.id,
    state: 'failed',
    failedReason: 'Cancelled.',
    now: ctx.now(),
  })
  if (!ended) throw conflict('The job has ended already.')
  return getJob(ctx, id)
}
