import { workKind } from '../../queue/define-work.ts'

/** A project has mail to hand over. */
export const mailDelivery = workKind('emails.deliver')
