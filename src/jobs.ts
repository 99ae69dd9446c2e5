import { advanceCampaignsJob } from './features/campaign-ledger/advance-campaigns.job.ts'
import { countFieldsJob } from './features/contact-fields/count-fields.job.ts'
import { deleteFieldsJob } from './features/contact-fields/delete-fields.job.ts'
import { changeContactsJob } from './features/contact-jobs/change-contacts.job.ts'
import { eraseTracesJob } from './features/contacts/erase-traces.job.ts'
import { mailDeliveryWork } from './features/delivery/deliver-mail.job.ts'
import { countEventsJob } from './features/event-statistics/count-events.job.ts'
import { deleteEventsJob } from './features/events/delete-events.job.ts'
import { computeSegmentsJob } from './features/memberships/compute-segments.job.ts'
import { followSegmentsJob } from './features/memberships/follow-segments.job.ts'
import { purgeExpiredJob } from './features/operations/purge-expired.job.ts'
import { foldHitsJob } from './features/tracking/fold-hits.job.ts'
import { makeCallsJob } from './features/webhooks/make-calls.job.ts'
import { routeEventsJob } from './features/webhooks/route-events.job.ts'
import { advanceWorkflowsJob } from './features/workflows/engine/advance-workflows.job.ts'
import type { Job } from './queue/define-job.ts'
import type { ProjectWork, WorkKind } from './queue/define-work.ts'

/** Background work of the service itself, and on a schedule. */
export const JOBS: readonly Job[] = [purgeExpiredJob]

export { deliverMailJob } from './features/delivery/deliver-mail.job.ts'

/** Background work of projects; delivery, which needs a mailer, is added where the worker starts. */
export const PROJECT_WORKS: readonly ProjectWork[] = [
  deleteEventsJob,
  countEventsJob,
  changeContactsJob,
  eraseTracesJob,
  deleteFieldsJob,
  countFieldsJob,
  advanceCampaignsJob,
  followSegmentsJob,
  computeSegmentsJob,
  foldHitsJob,
  advanceWorkflowsJob,
  routeEventsJob,
  makeCallsJob,
]

/** Every kind of project work by its name. */
export const WORK_KINDS: readonly WorkKind[] = [mailDeliveryWork, ...PROJECT_WORKS.map(({ kind }) => kind)]
