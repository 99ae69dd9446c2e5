import { workKind } from '../../queue/define-work.ts'

/** A project has mail to hand over. */
export const mailDeliveryWork = workKind('emails.deliver')
