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
  | 'pickWinner'
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
  pickWinner: { from: ['SENDING'], told: 'given a winner' },
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
