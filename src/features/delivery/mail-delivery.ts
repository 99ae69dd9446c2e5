import { workKind } from '../../queue/job-queue.ts'

/**
 * Workers deliver the mail of a project. Who writes mail asks for it with `requestWork(mailDeliveryWork)`, which
 * inserts a job after the commit; Postgres notifies the workers of the job (src/queue/job-listener.ts).
 */
export const mailDeliveryWork = workKind('emails.deliver')
