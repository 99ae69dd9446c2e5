import { isDeepStrictEqual } from 'node:util'
import { PgBoss, type Queue } from 'pg-boss'
import type { Logger } from 'pino'
import { SYSTEM } from '../admission/access.ts'
import { createCtx, type Services } from '../ctx.ts'
import type { Metrics } from '../observe/metrics.ts'
import { DEAD_LETTERS, type Job } from './define-job.ts'
import type { ProjectWork } from './define-work.ts'
import type { WorkKind } from './job-queue.ts'
import { ProjectWorker } from './project-worker.ts'
import type { QueueConnections } from './queue-connections.ts'
import { type Sweep, Sweeper, sweepOf } from './sweeper.ts'

const POLL_SECONDS = 2
/** How often jobs are looked for whose worker has died. */
const SUPERVISE_SECONDS = 5
/** How long a job that has failed for good can be looked at and put back. */
const DEAD_LETTER_SECONDS = 90 * 24 * 3_600

/**
 * The job queue, in the same database, on connections of its own. Only workers look after schedules and expired
 * jobs, and listen for new ones.
 */
export function createQueue(
  connections: QueueConnections,
  schema: string,
  log: Logger,
  worker: boolean,
): PgBoss {
  const boss = new PgBoss({
    db: connections,
    schema,
    useListenNotify: worker,
    supervise: worker,
    schedule: worker,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
  })
  // The queue tries again by itself; while the database is away it says so every few seconds.
  boss.on('error', (error) => log.debug({ err: error }, 'queue error'))
  return boss
}

/**
 * Background work is tried ten times in all, within about four minutes; then it is a dead letter. The schedule by which
 * mail is tried again is that of features/delivery/retry-schedule.rules.ts.
 */
const WORK_OPTIONS = {
  policy: 'short',
  notify: true,
  retryLimit: 9,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  heartbeatSeconds: 10,
  expireInSeconds: 3_600,
} as const

/**
 * Creates the queues of the listed jobs and kinds of work, with one for the dead letters of all, and changes those whose
 * options are others than before. The policy of a queue stays what it was when it was created.
 */
export async function defineQueues(
  boss: PgBoss,
  jobs: readonly (Pick<Job, 'name'> & Partial<Pick<Job, 'options'>>)[],
  kinds: readonly WorkKind[],
): Promise<void> {
  const existing = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  const wanted: Queue[] = [
    { name: DEAD_LETTERS, retentionSeconds: DEAD_LETTER_SECONDS },
    ...jobs.map(({ name, options }) => ({ ...options, name, deadLetter: DEAD_LETTERS })),
    ...kinds.map(({ name }) => ({ ...WORK_OPTIONS, name, deadLetter: DEAD_LETTERS })),
  ]
  for (const queue of wanted) {
    const { name, policy, ...options } = queue
    const before = existing.get(name)
    if (!before) await boss.createQueue(name, queue)
    else if (!isDeepStrictEqual({ ...before, ...options }, before)) await boss.updateQueue(name, options)
  }
}

/** Starts to run the jobs in this process. */
export async function runJobs(services: Services, jobs: readonly Job[], metrics: Metrics): Promise<void> {
  for (const job of jobs) {
    for (let worker = 0; worker < job.concurrency; worker += 1) await runJob(services, job, metrics)
    if (job.cron) await services.boss.schedule(job.name, job.cron, {}, { tz: 'UTC' })
  }
}

/** Starts a worker that runs one job of a kind after the other. */
async function runJob({ boss, log, ...services }: Services, job: Job, metrics: Metrics): Promise<void> {
  // Nobody tells of jobs whose time to be tried again has come, which pg-boss would look for every 30 seconds.
  const options = { pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS }
  const workerId = await boss.work(job.name, options, async (batch) => {
    for (const { id, data } of batch) {
      const own = { ...services, boss, log: log.child({ job: job.name, jobId: id }) }
      const ctx = createCtx(own, SYSTEM, id, { connections: 'worker' })
      await job.run(ctx, data).then(
        () => metrics.jobs.labels(job.name, 'completed').inc(),
        (error: unknown) => {
          metrics.jobs.labels(job.name, 'failed').inc()
          log.error({ err: error, job: job.name, jobId: id }, 'job failed')
          throw error
        },
      )
    }
    // Many jobs may have been told of by one notification: the next one follows at once, until there is none.
    boss.notifyWorker(workerId)
  })
}

export type RunningWork = {
  /** Looks for jobs of a kind now. */
  wake: (kind: WorkKind) => void
  stop: () => Promise<void>
}

/** Starts to run project work in this process, and what else is looked after. */
export function runProjectWork(
  services: Services,
  { works, sweeps }: { works: readonly ProjectWork[]; sweeps: readonly Sweep[] },
  metrics: Metrics,
): RunningWork {
  const workers = new Map(works.map((work) => [work.kind.name, new ProjectWorker(services, work, metrics)]))
  services.queueConnections.onNotification((queue) => {
    if (queue === '') for (const worker of workers.values()) worker.wake()
    else workers.get(queue)?.wake()
  })
  const sweeper = new Sweeper(services, [...sweeps, ...works.map(sweepOf)])
  for (const worker of workers.values()) worker.start()
  sweeper.start()
  return {
    wake: ({ name }) => workers.get(name)?.wake(),
    stop: async () => {
      await Promise.all([sweeper.stop(), ...[...workers.values()].map((worker) => worker.stop())])
    },
  }
}
