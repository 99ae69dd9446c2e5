import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { SYSTEM } from '../access.ts'
import { createCtx, type Services } from '../ctx.ts'
import type { Database } from '../db/database.ts'
import type { Metrics } from '../metrics.ts'
import { DEAD_LETTERS, type Job } from './define-job.ts'

const POLL_SECONDS = 2
/** How often jobs are looked for whose worker has died. */
const SUPERVISE_SECONDS = 5
/** How long a job that has failed for good can be looked at and put back. */
const DEAD_LETTER_SECONDS = 90 * 24 * 3_600

/**
 * The job queue, in the same database. It runs on the shared pool, so that it needs no connections of its own.
 * Only workers look after schedules and expired jobs.
 */
export function createQueue(database: Database, log: Logger, worker: boolean): PgBoss {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => database.pool.query(text, values) },
    supervise: worker,
    schedule: worker,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
  })
  // The queue tries again by itself; while the database is away it says so every few seconds.
  boss.on('error', (error) => log.debug({ err: error }, 'queue error'))
  return boss
}

/** Makes the queues of the jobs that are listed, with one queue for the dead letters of all. */
export async function defineQueues(boss: PgBoss, jobs: readonly Job[]): Promise<void> {
  await boss.createQueue(DEAD_LETTERS, { retentionSeconds: DEAD_LETTER_SECONDS })
  for (const job of jobs) await boss.createQueue(job.name, { ...job.options, deadLetter: DEAD_LETTERS })
}

/** Starts to run the jobs in this process. */
export async function runJobs(services: Services, jobs: readonly Job[], metrics: Metrics): Promise<void> {
  const { boss, log } = services
  for (const job of jobs) {
    const options = { pollingIntervalSeconds: POLL_SECONDS, localConcurrency: job.concurrency }
    await boss.work(job.name, options, async (batch) => {
      for (const { id, data } of batch) {
        const ctx = createCtx({ ...services, log: log.child({ job: job.name, jobId: id }) }, SYSTEM, id)
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
