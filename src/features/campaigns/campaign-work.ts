import { workKind } from '../../queue/define-work.ts'

/** A campaign of the project has something to do: it starts, goes on, is stopped, counted or removed. */
export const campaignWork = workKind('campaigns.advance')
