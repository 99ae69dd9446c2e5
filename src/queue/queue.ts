import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { SYSTEM } from '../admission/access.ts'
import { createCtx, type Services } from '../ctx.ts'
import type { Metrics } from '../observe/metrics.ts'
import { DEAD_LETTERS, type Job } from './define-job.ts'
import type { ProjectWork, WorkKind } from './define-work.ts'
import { ProjectWorker } from './project-worker.ts'
import type { QueueConnections } from './queue-connections.ts'
import { Sweeper } from './sweeper.ts'

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
 * mail is tried again is that of features/delivery/delivery.rules.ts.
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

/** Creates the queues of the listed jobs and kinds of work, with one for the dead letters of all. */
export async function defineQueues(
  boss: PgBoss,
  jobs: readonly Job[],
  kinds: readonly WorkKind[],
): Promise<void> {
  await boss.createQueue(DEAD_LETTERS, { retentionSeconds: DEAD_LETTER_SECONDS })
  for (const job of jobs) await boss.createQueue(job.name, { ...job.options, deadLetter: DEAD_LETTERS })
  for (const { name } of kinds) await boss.createQueue(name, { ...WORK_OPTIONS, deadLetter: DEAD_LETTERS })
}

/** Starts to run the jobs in this process. */
export async function runJobs(services: Services, jobs: readonly Job[], metrics: Metrics): Promise<void> {
  const { boss, log } = services
  for (const job of jobs) {
    const options = { pollingIntervalSeconds: POLL_SECONDS, localConcurrency: job.concurrency }
    await boss.work(job.name, options, async (batch) => {
      for (const { id, data } of batch) {
        const ctx = createCtx({ ...services, log: log.child({ job: job.name, jobId: id }) }, SYSTEM, id, {
          connections: 'worker',
        })
        await job.run(ctx, data).then(
          () => metrics.jobs.labels(job.name, 'completed').inc(),
          (error: unknown) => {
            metrics.jobs.labels(job.name, 'failed').inc()
            log.error({ err: error, job: job.name, jobId: id }, 'job failed')
            throw error
          },
        )
      }
    })
    if (job.cron) await boss.schedule(job.name, job.cron, {}, { tz: 'UTC' })
  }
}

export type RunningWork = {
  /** Looks for jobs of a kind now. */
  wake: (kind: WorkKind) => void
  stop: () => Promise<void>
}

/** Starts to run project work in this process. */
export function runProjectWork(
  services: Services,
  works: readonly ProjectWork[],
  metrics: Metrics,
): RunningWork {
  const workers = new Map(works.map((work) => [work.kind.name, new ProjectWorker(services, work, metrics)]))
  services.queueConnections.onNotification((queue) => {
    if (queue === '') for (const worker of workers.values()) worker.wake()
    else workers.get(queue)?.wake()
  })
  const sweeper = new Sweeper(services, works)
  for (const worker of workers.values()) worker.start()
  sweeper.start()
  return {
    wake: ({ name }) => workers.get(name)?.wake(),
    stop: async () => {
      await Promise.all([sweeper.stop(), ...[...workers.values()].map((worker) => worker.stop())])
    },
  }
}
