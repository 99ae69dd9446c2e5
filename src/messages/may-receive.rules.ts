/** The facts that decide whether a contact may receive a message. */
export type Receiver = {
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  subscribed: boolean
  /** The address bounced, complained, or was put on the list by hand. */
  suppressed: boolean
}

export type Refusal = 'suppressed' | 'unsubscribed'

/**
 * The one rule of who may receive what: a suppressed address receives nothing, and only subscribed contacts
 * receive marketing mail (MARKETING, HEADLESS). Null when the message may go out. `mayReceiveSql` is the same
 * in SQL.
 */
export function refusalToReceive({ type, subscribed, suppressed }: Receiver): Refusal | null {
  if (suppressed) return 'suppressed'
  return type !== 'TRANSACTIONAL' && !subscribed ? 'unsubscribed' : null
}

export const mayReceive = (receiver: Receiver): boolean => refusalToReceive(receiver) === null
