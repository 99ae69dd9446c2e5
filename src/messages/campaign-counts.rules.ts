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

/** The counts that rates are made of. */
export type RatedCounts = Pick<
  CampaignCounts,
  | 'sentCount'
  | 'bouncedCount'
  | 'openedCount'
  | 'clickedCount'
  | 'deliveredCount'
  | 'complainedCount'
  | 'unsubscribedCount'
>

/** In percent, with two digits behind the point; 0 of nothing is 0. */
const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100

/**
 * What people did is compared with the messages that can have reached them: those that were handed over and did not bounce. Not every provider says what was delivered, so that is not the base.
 */
export function ratesOf(counts: RatedCounts): CampaignRates {
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
