import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { type Notification, type Report, type ReportKind, reportOf } from './report.rules.ts'

/*
 * Webhooks of Mailgun: documentation.mailgun.com, "Securing Webhooks" and "Event Structure". The signature is about the
 * timestamp and the token alone, so each token is taken once.
 */

const text = z.string().optional().catch(undefined)

/** Whatever has another type than documented counts as missing. */
const eventData = z.object({
  id: text,
  event: z.string(),
  timestamp: z.number().optional().catch(undefined),
  severity: text,
  reason: text,
  recipient: text,
  url: text,
  envelope: z.object({ sender: text }).optional().catch(undefined),
  domain: z.object({ name: text }).optional().catch(undefined),
  message: z
    .object({ headers: z.object({ 'message-id': text }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
  'user-variables': z.object({ email_id: text }).optional().catch(undefined),
  'client-info': z.object({ 'user-agent': text, bot: text }).optional().catch(undefined),
  'delivery-status': z
    .object({
      code: z.union([z.number(), z.string()]).optional().catch(undefined),
      message: text,
      description: text,
    })
    .optional()
    .catch(undefined),
})

type EventData = z.output<typeof eventData>

const signature = z.object({
  timestamp: z.union([z.string(), z.number()]).transform(String),
  token: z.string().min(1).max(255),
  signature: z.string(),
})

const MAX_AGE_MS = 5 * 60_000

/** The token of a webhook that Mailgun has signed in the last minutes; null of any other. */
export function signedToken(body: unknown, key: string, now: Date): string | null {
  const parsed = z.object({ signature }).safeParse(body)
  if (!parsed.success) return null
  const { timestamp, token, signature: given } = parsed.data.signature
  const expected = createHmac('sha256', key).update(timestamp).update(token).digest()
  const bytes = Buffer.from(given, 'hex')
  if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return null
  const age = Math.abs(now.getTime() - Number(timestamp) * 1_000)
  return age <= MAX_AGE_MS ? token : null
}

/** What the body says, of which the signature is checked; without reports when it is of nothing that is followed. */
export function mailgunNotification(body: unknown, token: string, now: Date): Notification {
  const { data } = z.object({ 'event-data': eventData }).safeParse(body)
  const event = data?.['event-data']
  return {
    source: 'mailgun',
    id: event?.id?.slice(0, 255) || token,
    token,
    reports: event ? reportsOf(event, now) : [],
  }
}

function reportsOf(event: EventData, now: Date): Report[] {
  const kind = kindOf(event)
  if (kind === null) return []
  const happened = event.timestamp === undefined ? now : new Date(event.timestamp * 1_000)
  const at = happened < now ? happened : now
  const client = event['client-info']
  return [
    reportOf(kind, at, {
      messageId: event.message?.headers?.['message-id'],
      emailId: event['user-variables']?.email_id,
      sender: event.envelope?.sender ?? event.domain?.name,
      recipient: event.recipient,
      reason: reasonOf(event),
      link: event.url,
      // Gmail's proxy loads images when a person opens the message.
      agent: client
        ? { name: client['user-agent'] ?? '', machine: Boolean(client.bot) && client.bot !== 'gmail' }
        : null,
    }),
  ]
}

const KINDS: Record<string, ReportKind> = {
  delivered: 'DELIVERED',
  complained: 'COMPLAINED',
  rejected: 'REJECTED',
  opened: 'OPENED',
  clicked: 'CLICKED',
  unsubscribed: 'UNSUBSCRIBED',
}

/** Mailgun has not tried these: the address is on one of its lists (User Manual, Tracking Failures). */
const NOT_TRIED: Record<string, ReportKind> = {
  'suppress-bounce': 'REJECTED',
  'suppress-complaint': 'REJECTED',
  'suppress-unsubscribe': 'UNSUBSCRIBED',
}

function kindOf({ event, severity, reason }: EventData): ReportKind | null {
  if (event === 'failed') {
    return severity === 'temporary' ? 'SOFT_BOUNCED' : (NOT_TRIED[reason ?? ''] ?? 'BOUNCED')
  }
  return KINDS[event] ?? null
}

function reasonOf({ event, reason, 'delivery-status': status }: EventData): string | undefined {
  if (event !== 'failed' && event !== 'rejected') return undefined
  const words = status?.message || status?.description || reason
  return [status?.code, words].filter(Boolean).join(' ')
}
