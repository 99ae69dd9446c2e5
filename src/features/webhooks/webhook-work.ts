import { workKind } from '../../queue/job-queue.ts'

/** A project has calls of webhooks to make. */
export const callWork = workKind('webhooks.call')
