/** The facts that decide what becomes of a campaign for one contact. */
export type DeliveryFacts = {
  campaign: { status: string; paused: boolean; isMarketing: boolean }
  /** In the ledger; null when the contact is not in it. */
  status: string | null
  /** Null when there is no such contact any more. */
  contact: { isInAudience: boolean; isNew: boolean; subscribed: boolean; isSuppressed: boolean } | null
  error: string | null
  nextAttemptAt: Date | null
  /** That time has not come. */
  isPutOff: boolean
  isThrottled: boolean
  /** When its turn comes by its time zone; null when the campaign does not look at that. */
  turnAt: Date | null
  /** It is not in the A/B test, which has no winner. */
  waitsForWinner: boolean
}

/** One sentence for people that answers why the contact has the message or not. */
export function answerOf(facts: DeliveryFacts): string {
  switch (facts.status) {
    case null:
      return notListed(facts)
    case 'PENDING':
      return pending(facts)
    case 'SENDING':
      return onItsWay(facts)
    case 'SENT':
      return 'The mail provider has taken the message.'
    case 'FAILED':
      return `The message was given up: ${facts.error ?? 'its last attempt failed.'} retryFailed tries again.`
    case 'SUPPRESSED':
      return 'The address must not be written to: it bounced, complained or was put on the list.'
    case 'SKIPPED':
      return facts.contact
        ? 'The contact was not subscribed when its turn came.'
        : 'The contact was deleted before its turn came.'
    default:
      return 'The campaign was cancelled before the message was handed over.'
  }
}

function pending({ campaign, turnAt, waitsForWinner }: DeliveryFacts): string {
  if (campaign.paused) return 'The campaign is paused; the contact gets it when it is resumed.'
  if (waitsForWinner) return 'The contact gets the variant that wins the A/B test, when that is known.'
  return turnAt
    ? `The turn of the contact comes at ${turnAt.toISOString()}, by its time zone.`
    : 'The turn of the contact has not come.'
}

function notListed({ campaign, contact }: DeliveryFacts): string {
  if (!contact) return 'There is no such contact, and the campaign never had it in its audience.'
  if (campaign.status === 'DRAFT' || campaign.status === 'SCHEDULED') {
    const would = 'The campaign has not been sent; as things are, the contact'
    if (!contact.isInAudience) return `${would} is not in its audience.`
    if (contact.isSuppressed) return `${would} would be left out: its address is suppressed.`
    if (campaign.isMarketing && !contact.subscribed)
      return `${would} would be left out: it is not subscribed.`
    return `${would} would get it.`
  }
  if (contact.isNew) return 'The contact was created after the sending had started.'
  if (!contact.isInAudience) return 'The contact was not in the audience when the sending started.'
  return campaign.status === 'SENDING'
    ? 'The audience is still being written down; the turn of the contact has not come.'
    : 'The contact came into the audience after the sending had started, or it was cancelled before its turn.'
}

function onItsWay({ error, nextAttemptAt, isPutOff, isThrottled }: DeliveryFacts): string {
  if (error !== null && nextAttemptAt !== null) {
    return `The message is tried again at ${nextAttemptAt.toISOString()}: ${error}`
  }
  if (isPutOff && nextAttemptAt !== null) {
    return `The message waits until ${nextAttemptAt.toISOString()}: its destination takes no more mail before.`
  }
  return isThrottled
    ? 'The message waits in the delivery queue: the project sends as much a second as it may.'
    : 'The message waits in the delivery queue, or is being handed over.'
}
