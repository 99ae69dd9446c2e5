import { workKind } from '../../queue/define-work.ts'

/**
 * Workers deliver the mail of a project. Who writes mail asks for it with `requestWork(mailDeliveryWork)`, which
 * inserts a job after the commit; Postgres notifies the workers of the job (src/queue/notifications.ts).
 */
export const mailDeliveryWork = workKind('emails.deliver')
