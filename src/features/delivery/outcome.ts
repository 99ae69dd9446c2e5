import type { JsonObject } from '../../lib/json.ts'
import { storableText } from '../../lib/text/storable.ts'
import type { DeliveryResult } from '../../mail/mailer.ts'
import { refusalToReceive } from '../../messages/may-receive.rules.ts'
import type { DueEmail, TakenRow } from './delivery.sql.ts'
import type { MailBody } from './outbox.ts'
import { MAX_ATTEMPTS, retryDelay } from './retry-schedule.rules.ts'
import type { OutcomeStatus, RecipientOutcome } from './settle.sql.ts'

/** A message that this worker has taken. */
export type TakenEmail = Pick<
  TakenRow,
  'projectId' | 'jobId' | 'priority' | 'size' | 'attempts' | 'lateMs' | 'dueAt'
> & {
  id: string
  jobAttempt: number
}

/** The result for a message that was taken, as the database is to keep it. */
export type Outcome = {
  status: OutcomeStatus
  /** Milliseconds until the message is tried again. */
  delayMs: number
  /** 1 when the message was not handed over: the attempt does not count. */
  untried: 0 | 1
  providerMessageId: string | null
  /** Null keeps the error before. */
  error: string | null
  event: { name: string; data: object } | null
  /** Whether the message may have arrived without a confirmation. */
  uncertain: boolean
  /** Null unless the message belongs to a campaign and is final. */
  recipientStatus: RecipientOutcome | null
  /** Null unless the message was rendered at the hand-over. */
  rendered: Rendered | null
}

/** The subject of a message, and the data of the contact that it was rendered with. */
export type Rendered = { subject: string; variables: JsonObject | null }

const UNCHANGED = {
  delayMs: 0,
  untried: 0,
  providerMessageId: null,
  error: null,
  event: null,
  uncertain: false,
  recipientStatus: null,
  rendered: null,
} as const

/** The message was not handed over and waits as before; `error` says why, if there is something to say. */
export const givenBack = (error: string | null, delayMs = 0): Outcome => ({
  ...UNCHANGED,
  status: 'PENDING',
  untried: 1,
  delayMs,
  error,
})

/** The campaign was cancelled before the message was handed over. */
export const CANCELLED: Outcome = {
  ...UNCHANGED,
  status: 'CANCELLED',
  untried: 1,
  recipientStatus: 'CANCELLED',
}

export const GONE: Outcome = { ...UNCHANGED, status: 'GONE' }

const lifecycleData = (email: DueEmail) => ({
  emailId: email.id,
  subject: email.subject,
  from: email.from,
  messageId: email.messageId,
  templateId: email.templateId,
  campaignId: email.campaignId,
  sourceType: email.sourceType,
})

export const givenUp = (
  email: DueEmail,
  status: 'FAILED' | 'SUPPRESSED',
  reason: string,
  recipientStatus: RecipientOutcome = status,
): Outcome => ({
  ...UNCHANGED,
  status,
  error: reason,
  recipientStatus,
  event: {
    name: status === 'FAILED' ? 'email.failed' : 'email.suppressed',
    data: { ...lifecycleData(email), reason },
  },
})

const REFUSALS = {
  suppressed: 'The address is suppressed: it bounced, complained or was put on the list.',
  unsubscribed: 'The contact has unsubscribed.',
} as const

/** Messages of a paused campaign are looked at again after this time, unless they leave the queue before. */
const PAUSED_MS = 5_000

/** Returns the outcome of a message whose campaign was stopped, and null for all others. */
export function stoppedWith({ campaignId, campaignStatus, campaignPaused }: DueEmail): Outcome | null {
  if (campaignId === null) return null
  if (campaignStatus === null || campaignStatus === 'CANCELLED') return CANCELLED
  return campaignPaused ? givenBack(null, PAUSED_MS) : null
}

/** Returns why a message must not be handed over after all: things change while it waits. Null when it may. */
export function refusalOf(email: DueEmail, body: MailBody | null, attempts: number): Outcome | null {
  const refusal = refusalToReceive(email)
  if (refusal) {
    const recipientStatus = refusal === 'suppressed' ? 'SUPPRESSED' : 'SKIPPED'
    return givenUp(email, 'SUPPRESSED', REFUSALS[refusal], recipientStatus)
  }
  if (attempts > MAX_ATTEMPTS) {
    return givenUp(email, 'FAILED', 'Every attempt to hand this message over was cut off.')
  }
  if (email.domainStatus === null) {
    return givenUp(email, 'FAILED', 'The sender domain was removed from the project.')
  }
  return body === null ? givenUp(email, 'FAILED', 'The body of this message has expired.') : null
}

const UNCERTAIN = 'The message may have been accepted all the same, and may arrive twice.'

/** Decides after a hand-over: done, tried again later, or given up. `random` is between 0 and 1. */
export function outcomeOf(
  email: DueEmail,
  attempts: number,
  result: Exclude<DeliveryResult, { kind: 'provider' }>,
  random: number,
): Outcome {
  if (result.kind === 'sent') {
    const providerMessageId = result.providerMessageId && storableText(result.providerMessageId)
    const event = { name: 'email.sent', data: lifecycleData(email) }
    return { ...UNCHANGED, status: 'SENT', providerMessageId, event, recipientStatus: 'SENT' }
  }
  const isUncertain = result.kind === 'temporary' && result.uncertain === true
  const reason = storableText(result.reason) + (isUncertain ? ` ${UNCERTAIN}` : '')
  const delayMs = result.kind === 'temporary' ? retryDelay(attempts, random) : null
  if (delayMs === null) return givenUp(email, 'FAILED', reason)
  return { ...UNCHANGED, status: 'PENDING', delayMs, error: reason, uncertain: isUncertain }
}
