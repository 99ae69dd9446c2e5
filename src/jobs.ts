import { purgeExpired } from './features/operations/purge-expired.job.ts'
import { type Job, toJob } from './queue/define-job.ts'

/** Every kind of background work. */
export const jobs: readonly Job[] = [toJob(purgeExpired)]
