import { workKind } from '../../queue/define-work.ts'

/** A project has calls of webhooks to make. */
export const callWork = workKind('webhooks.call')
