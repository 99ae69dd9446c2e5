import { foldTalliesJob } from './features/analytics/fold-tallies.job.ts'
import { countUsageJob } from './features/billing/count-usage.job.ts'
import { syncAccountsJob } from './features/billing/sync-accounts.job.ts'
import { advanceCampaignsJob } from './features/campaign-ledger/advance-campaigns.job.ts'
import { countFieldsJob } from './features/contact-fields/count-fields.job.ts'
import { deleteFieldsJob } from './features/contact-fields/delete-fields.job.ts'
import { changeContactsJob } from './features/contact-jobs/change-contacts.job.ts'
import { eraseTracesJob } from './features/contacts/erase-traces.job.ts'
import { mailDeliveryWork } from './features/delivery/deliver-mail.job.ts'
import { checkDomainsJob } from './features/domains/check-domains.job.ts'
import { countEventsJob } from './features/event-statistics/count-events.job.ts'
import { deleteEventsJob } from './features/events/delete-events.job.ts'
import { computeSegmentsJob } from './features/memberships/compute-segments.job.ts'
import { followSegmentsJob } from './features/memberships/follow-segments.job.ts'
import { applyReportsJob } from './features/notifications/apply-reports.job.ts'
import { countGrownTablesJob } from './features/operations/count-grown-tables.job.ts'
import { purgeExpiredJob } from './features/operations/purge-expired.job.ts'
import { checkReputationJob } from './features/reputation/check-reputation.job.ts'
import { serviceMailQueue } from './features/service-mail/service-mail.job.ts'
import { foldHitsJob } from './features/tracking/fold-hits.job.ts'
import { makeCallsJob } from './features/webhooks/make-calls.job.ts'
import { routeEventsJob } from './features/webhooks/route-events.job.ts'
import { wipeProjectsJob } from './features/wipes/wipe-projects.job.ts'
import { foldCountsJob } from './features/workflows/counts/fold-counts.job.ts'
import { advanceWorkflowsJob } from './features/workflows/engine/advance-workflows.job.ts'
import type { Job } from './queue/define-job.ts'
import type { ProjectWork } from './queue/define-work.ts'
import type { WorkKind } from './queue/job-queue.ts'
import type { Sweep } from './queue/sweeper.ts'

/** The service itself has these done on a schedule. */
export const JOBS: readonly Job[] = [purgeExpiredJob]

export { deliverMailJob } from './features/delivery/deliver-mail.job.ts'
export { serviceMailJob } from './features/service-mail/service-mail.job.ts'

/** Queues of the jobs that need a mailer, which the worker starts. */
export const MAIL_QUEUES = [serviceMailQueue]

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
  foldTalliesJob,
  foldCountsJob,
  applyReportsJob,
  checkReputationJob,
  advanceWorkflowsJob,
  routeEventsJob,
  makeCallsJob,
  wipeProjectsJob,
  checkDomainsJob,
  countUsageJob,
  syncAccountsJob,
]

/** What is looked after beside the work of projects. */
export const SWEEPS: readonly Sweep[] = [countGrownTablesJob]

/** Every kind of project work by its name. */
export const WORK_KINDS: readonly WorkKind[] = [mailDeliveryWork, ...PROJECT_WORKS.map(({ kind }) => kind)]
