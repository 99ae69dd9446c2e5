import { z } from 'zod'
import { type Report, type ReportKind, reportOf, timeIn } from './report.rules.ts'

/*
 * What Amazon SES publishes through SNS: docs.aws.amazon.com/ses, "Contents of event data that Amazon SES publishes to
 * Amazon SNS" (event publishing, `eventType`), "Amazon SNS notification contents" (feedback, `notificationType`), and "Contents of
 * notifications for Amazon SES email receiving" (`notificationType` Received).
 */

const text = z.string().optional().catch(undefined)
const recipients = z
  .array(z.object({ emailAddress: text, diagnosticCode: text, status: text }))
  .optional()
  .catch(undefined)

const mail = z.object({
  messageId: text,
  source: text,
  timestamp: text,
  destination: z.array(z.string()).optional().catch(undefined),
  headers: z
    .array(z.object({ name: text, value: text }))
    .optional()
    .catch(undefined),
  commonHeaders: z.object({ messageId: text }).optional().catch(undefined),
  tags: z.record(z.string(), z.array(z.string())).optional().catch(undefined),
})

/** Whatever has another type than documented counts as missing. */
const sesEvent = z.object({
  eventType: text,
  notificationType: text,
  mail,
  bounce: z
    .object({ bounceType: text, bounceSubType: text, timestamp: text, bouncedRecipients: recipients })
    .optional()
    .catch(undefined),
  complaint: z
    .object({ complaintFeedbackType: text, timestamp: text, complainedRecipients: recipients })
    .optional()
    .catch(undefined),
  delivery: z.object({ timestamp: text }).optional().catch(undefined),
  open: z.object({ timestamp: text, userAgent: text }).optional().catch(undefined),
  click: z.object({ timestamp: text, userAgent: text, link: text }).optional().catch(undefined),
  reject: z.object({ reason: text }).optional().catch(undefined),
  failure: z.object({ errorMessage: text }).optional().catch(undefined),
  subscription: z
    .object({
      timestamp: text,
      newTopicPreferences: z
        .object({ unsubscribeAll: z.boolean().optional().catch(undefined) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
})

type SesEvent = z.output<typeof sesEvent>

/** Reports in the message of a notification; none when it is of nothing that is followed. */
export function sesReports(message: string, now: Date): Report[] {
  const { data: event } = sesEvent.safeParse(parsed(message))
  const what = event && happeningOf(event)
  if (!event || !what) return []
  const { mail } = event
  const messageId =
    mail.headers?.find(({ name }) => name?.toLowerCase() === 'message-id')?.value ??
    mail.commonHeaders?.messageId
  // A message of this service has one receiver.
  const recipient = what.recipient ?? mail.destination?.[0]
  return [
    reportOf(what.kind, timeIn(what.at ?? mail.timestamp, now), {
      messageId,
      emailId: mail.tags?.email_id?.[0],
      sender: mail.source?.replace(/^.*<|>.*$/g, ''),
      recipient,
      providerMessageId: mail.messageId,
      reason: what.reason,
      link: what.link,
      agent: what.agent === undefined ? null : { name: what.agent, machine: false },
    }),
  ]
}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return null
  }
}

type Happening = {
  kind: ReportKind
  at?: string | undefined
  recipient?: string | undefined
  reason?: string | undefined
  link?: string | undefined
  agent?: string | undefined
}

function happeningOf(event: SesEvent): Happening | null {
  const { bounce, complaint, delivery, open, click, reject, failure, subscription } = event
  switch (event.eventType ?? event.notificationType) {
    case 'Delivery':
      return { kind: 'DELIVERED', at: delivery?.timestamp }
    case 'Bounce':
      return bounce ? bounceOf(bounce) : null
    case 'Complaint':
      return complaint ? complaintOf(complaint) : null
    case 'Reject':
      return { kind: 'REJECTED', reason: reject?.reason }
    case 'Rendering Failure':
      return { kind: 'REJECTED', reason: failure?.errorMessage }
    case 'Open':
      return { kind: 'OPENED', at: open?.timestamp, agent: open?.userAgent ?? '' }
    case 'Click':
      return { kind: 'CLICKED', at: click?.timestamp, link: click?.link, agent: click?.userAgent ?? '' }
    case 'Subscription': {
      const isOut = subscription?.newTopicPreferences?.unsubscribeAll === true
      return isOut ? { kind: 'UNSUBSCRIBED', at: subscription?.timestamp } : null
    }
    default:
      return null
  }
}

function bounceOf(bounce: NonNullable<SesEvent['bounce']>): Happening {
  const [first] = bounce.bouncedRecipients ?? []
  return {
    kind: bounce.bounceType === 'Permanent' ? 'BOUNCED' : 'SOFT_BOUNCED',
    at: bounce.timestamp,
    recipient: first?.emailAddress,
    reason: first?.diagnosticCode ?? [bounce.bounceType, bounce.bounceSubType].filter(Boolean).join(', '),
  }
}

/** Somebody who says that a message is no spam takes a complaint back; nothing is known of that one. */
function complaintOf(complaint: NonNullable<SesEvent['complaint']>): Happening | null {
  if (complaint.complaintFeedbackType === 'not-spam') return null
  const [first] = complaint.complainedRecipients ?? []
  return {
    kind: 'COMPLAINED',
    at: complaint.timestamp,
    recipient: first?.emailAddress,
    reason: complaint.complaintFeedbackType,
  }
}

const texts = z.array(z.string()).optional().catch(undefined)

const received = z.object({
  notificationType: z.literal('Received'),
  content: text,
  mail: z.object({ messageId: text, source: text, timestamp: text, destination: texts }),
  receipt: z.object({
    recipients: texts,
    virusVerdict: z.object({ status: text }).optional().catch(undefined),
    action: z
      .object({ type: text, encoding: text, bucketName: text, objectKey: text })
      .optional()
      .catch(undefined),
  }),
})

export type SesMail = {
  /** Of the envelope; empty for none. */
  sender: string
  /** Those of the envelope that the rule at SES is about. */
  recipients: string[]
  /** Of SES. */
  messageId: string | undefined
  timestamp: string | undefined
  /** The message; null when there is none that can be taken over. */
  raw: Buffer | null
  /** Why there is none, for whoever runs the service. */
  missing: string | null
}

/** The mail that a message of SNS tells of; null when it tells of something else. */
export function sesMail(message: string): SesMail | null {
  const { data } = received.safeParse(parsed(message))
  if (!data) return null
  const { mail, receipt } = data
  return {
    // SES writes MAILER-DAEMON or an empty text for the null sender.
    sender: mail.source?.includes('@') ? mail.source.replace(/^.*<|>.*$/g, '') : '',
    recipients: receipt.recipients ?? mail.destination ?? [],
    messageId: mail.messageId,
    timestamp: mail.timestamp,
    ...contentOf(data),
  }
}

function contentOf({ content, receipt }: z.output<typeof received>): Pick<SesMail, 'raw' | 'missing'> {
  const { virusVerdict, action } = receipt
  if (virusVerdict?.status === 'FAIL') return { raw: null, missing: 'SES has found a virus in it.' }
  if (content) {
    const encoding = action?.encoding?.toUpperCase() === 'BASE64' ? 'base64' : 'utf8'
    return { raw: Buffer.from(content, encoding), missing: null }
  }
  const place = action?.bucketName ? `s3://${action.bucketName}/${action.objectKey ?? ''}` : null
  return {
    raw: null,
    missing: place
      ? `The notification has no content: SES has put the message to ${place}. Use the action SNS of the receipt rule.`
      : `The notification has no content (action ${action?.type ?? 'unknown'}). Use the action SNS of the receipt rule.`,
  }
}

/** SES has accepted it, so whoever runs the service has to know of it. */
export const notReceived = (
  { recipients, messageId, timestamp }: SesMail,
  reason: string,
  now: Date,
): Report =>
  reportOf('NOT_RECEIVED', timeIn(timestamp, now), {
    recipient: recipients[0],
    providerMessageId: messageId,
    reason,
  })
