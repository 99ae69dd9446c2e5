export type CampaignStatus = 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'SENT' | 'CANCELLED'

/** What can be done with a campaign. `start` and `finish` happen by themselves. */
export type CampaignAction =
  | 'update'
  | 'send'
  | 'schedule'
  | 'start'
  | 'finish'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'retryFailed'
  | 'delete'

type Transition = {
  from: readonly [CampaignStatus, ...CampaignStatus[]]
  /** Null when the state stays as it is. */
  to: CampaignStatus | null
  /** What cannot be done with a campaign in another state. */
  told: string
}

/** The state machine of a campaign: in which states each action is allowed, and where it leads. */
export const TRANSITIONS: Record<CampaignAction, Transition> = {
  update: { from: ['DRAFT', 'SCHEDULED'], to: null, told: 'changed' },
  send: { from: ['DRAFT', 'SCHEDULED'], to: 'SENDING', told: 'sent' },
  schedule: { from: ['DRAFT', 'SCHEDULED'], to: 'SCHEDULED', told: 'scheduled' },
  start: { from: ['SCHEDULED'], to: 'SENDING', told: 'started' },
  finish: { from: ['SENDING'], to: 'SENT', told: 'finished' },
  cancel: { from: ['SCHEDULED', 'SENDING'], to: 'CANCELLED', told: 'cancelled' },
  pause: { from: ['SENDING'], to: null, told: 'paused' },
  resume: { from: ['SENDING'], to: null, told: 'resumed' },
  retryFailed: { from: ['SENDING', 'SENT'], to: 'SENDING', told: 'sent again to those for whom it failed' },
  delete: { from: ['DRAFT', 'CANCELLED', 'SENT'], to: null, told: 'deleted' },
}

export const isAllowed = (action: CampaignAction, status: CampaignStatus): boolean =>
  TRANSITIONS[action].from.includes(status)

/** Why the action cannot be done with a campaign in the state; null when it can. */
export function obstacleTo(action: CampaignAction, status: CampaignStatus): string | null {
  if (isAllowed(action, status)) return null
  const { from, told } = TRANSITIONS[action]
  const wanted = new Intl.ListFormat('en', { type: 'disjunction' }).format(from)
  return `A campaign that is ${status} cannot be ${told}; it must be ${wanted}.`
}

/** How many recipients are in each state of the ledger, and what is known of the messages. */
export type CampaignCounts = {
  pendingCount: number
  sendingCount: number
  sentCount: number
  failedCount: number
  suppressedCount: number
  skippedCount: number
  cancelledCount: number
  deliveredCount: number
  openedCount: number
  clickedCount: number
  bouncedCount: number
  complainedCount: number
  unsubscribedCount: number
}

/** Everyone in the ledger. */
export const recipientsOf = (counts: CampaignCounts): number =>
  counts.pendingCount +
  counts.sendingCount +
  counts.sentCount +
  counts.failedCount +
  counts.suppressedCount +
  counts.skippedCount +
  counts.cancelledCount

export type CampaignRates = {
  openRate: number
  clickRate: number
  bounceRate: number
  deliveryRate: number
  complaintRate: number
  unsubscribeRate: number
}

/** In percent, with two digits behind the point; 0 of nothing is 0. */
const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100

/**
 * What people did is compared with the messages that can have reached them: those that were handed over and did not come
 * back. Not every provider says what was delivered, so that is not the base.
 */
export function ratesOf(counts: CampaignCounts): CampaignRates {
  const { sentCount, bouncedCount } = counts
  const reached = Math.max(0, sentCount - bouncedCount)
  return {
    openRate: percent(counts.openedCount, reached),
    clickRate: percent(counts.clickedCount, reached),
    bounceRate: percent(bouncedCount, sentCount),
    deliveryRate: percent(counts.deliveredCount, sentCount),
    complaintRate: percent(counts.complainedCount, reached),
    unsubscribeRate: percent(counts.unsubscribedCount, reached),
  }
}
