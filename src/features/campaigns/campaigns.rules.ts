export type CampaignStatus = 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'SENT' | 'CANCELLED'

/** What can be done with a campaign. `finish` happens by itself. */
export type CampaignAction =
  | 'update'
  | 'send'
  | 'schedule'
  | 'finish'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'retryFailed'
  | 'delete'

/** In which states an action is allowed, and how it is told: "A campaign that is SENT cannot be cancelled". */
type Rule = { from: readonly [CampaignStatus, ...CampaignStatus[]]; told: string }

/**
 * The state machine of a campaign: DRAFT and SCHEDULED become SENDING when they are sent, SENDING becomes SENT when every
 * recipient is in a final state, SCHEDULED and SENDING become CANCELLED when they are cancelled, and SENT becomes SENDING
 * again when failed messages are retried. All other actions leave the state as it is.
 */
const RULES: Record<CampaignAction, Rule> = {
  update: { from: ['DRAFT', 'SCHEDULED'], told: 'changed' },
  send: { from: ['DRAFT', 'SCHEDULED'], told: 'sent' },
  schedule: { from: ['DRAFT', 'SCHEDULED'], told: 'scheduled' },
  finish: { from: ['SENDING'], told: 'finished' },
  cancel: { from: ['SCHEDULED', 'SENDING'], told: 'cancelled' },
  pause: { from: ['SENDING'], told: 'paused' },
  resume: { from: ['SENDING'], told: 'resumed' },
  retryFailed: { from: ['SENDING', 'SENT'], told: 'sent again to those for whom it failed' },
  delete: { from: ['DRAFT', 'CANCELLED', 'SENT'], told: 'deleted' },
}

export const isAllowed = (action: CampaignAction, status: CampaignStatus): boolean =>
  RULES[action].from.includes(status)

/** Why the action cannot be done with a campaign in the state; null when it can. */
export function obstacleTo(action: CampaignAction, status: CampaignStatus): string | null {
  if (isAllowed(action, status)) return null
  const { from, told } = RULES[action]
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
 * What people did is compared with the messages that can have reached them: those that were handed over and did not bounce. Not every provider says what was delivered, so that is not the base.
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
