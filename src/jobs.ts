import { eraseTracesJob } from './features/contacts/erase-traces.job.ts'
import { runContactJob } from './features/contacts/run-contact-job.job.ts'
import { countEvents } from './features/events/count-events.job.ts'
import { deleteEventsJob } from './features/events/delete-events.job.ts'
import { purgeExpired } from './features/operations/purge-expired.job.ts'
import { refreshSegments } from './features/segments/refresh-segments.job.ts'
import { type Job, toJob } from './queue/define-job.ts'

/** Every kind of background work. */
export const jobs: readonly Job[] = [
  toJob(purgeExpired),
  toJob(eraseTracesJob),
  toJob(runContactJob),
  toJob(countEvents),
  toJob(deleteEventsJob),
  toJob(refreshSegments),
]
