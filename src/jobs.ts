import { deleteContactFields } from './features/contact-fields/delete-fields.job.ts'
import { runContactJobs } from './features/contact-jobs/run-contact-jobs.job.ts'
import { eraseTracesOfContacts } from './features/contacts/erase-traces.job.ts'
import { mailDelivery } from './features/delivery/deliver-mail.job.ts'
import { countProjectEvents } from './features/event-statistics/count-events.job.ts'
import { deleteProjectEvents } from './features/events/delete-events.job.ts'
import { computeSegments } from './features/memberships/compute-segments.job.ts'
import { followSegments } from './features/memberships/follow-segments.job.ts'
import { purgeExpired } from './features/operations/purge-expired.job.ts'
import { type Job, toJob } from './queue/define-job.ts'
import type { ProjectWork, WorkKind } from './queue/define-work.ts'

/** Background work of the service itself, and on a schedule. */
export const jobs: readonly Job[] = [toJob(purgeExpired)]

export { deliverMail } from './features/delivery/deliver-mail.job.ts'

/** Background work of projects; delivery, which needs a mailer, is added where the worker starts. */
export const projectWorks: readonly ProjectWork[] = [
  deleteProjectEvents,
  countProjectEvents,
  runContactJobs,
  eraseTracesOfContacts,
  deleteContactFields,
  followSegments,
  computeSegments,
]

/** Every kind of project work by its name. */
export const workKinds: readonly WorkKind[] = [mailDelivery, ...projectWorks.map(({ kind }) => kind)]
