import { newId } from '../../lib/ids.ts'
import type { ReportKind } from './report.rules.ts'

/** A report with the message that it is about, as far as there is one. */
export type ReportRow = {
  id: string
  kind: ReportKind
  at: Date
  reason: string | null
  link: string | null
  machine: boolean
  mailId: string | null
  /** Somebody is handing the message over. */
  isTaken: boolean
}

/** A message as far as it is known what became of it. */
export type ReportedMail = {
  id: string
  contactId: string
  toEmail: string
  status: string
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  tracking: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
  sentAt: Date | null
  deliveredAt: Date | null
  bouncedAt: Date | null
  softBouncedAt: Date | null
  complainedAt: Date | null
  rejectedAt: Date | null
}

/** What counts as reports of a message: its status is the highest of them (`raisedStatus`). */
type HeardStatus = 'DELIVERED' | 'BOUNCED' | 'COMPLAINED'

/** What reports of one message come to. Times are null when nothing new is known of them. */
export type Outcome = {
  id: string
  /** The address that it went to. */
  toEmail: string
  /** Null leaves the status as it is. */
  status: HeardStatus | null
  deliveredAt: Date | null
  bouncedAt: Date | null
  softBouncedAt: Date | null
  complainedAt: Date | null
  /** When the provider gave the message up, after it had taken it. */
  rejectedAt: Date | null
  /** Whether it had failed until now. */
  wasGivenUp: boolean
  error: string | null
  /** 1 when it is the first of its kind. */
  delivered: 0 | 1
  bounced: 0 | 1
  complained: 0 | 1
  events: { id: string; name: string; data: object; at: Date }[]
  /** Why the contact is not written to any more, if it is not. */
  unsubscribedBy: 'complaint' | 'bounce' | 'link' | null
  suppressedFor: 'COMPLAINT' | 'BOUNCE' | null
  /** It was turned away for a reason that may pass: the messages before it have to be looked at. */
  isSoftBounce: boolean
}

/** Events are counted for good some days later; what waited for longer than this is dated later than it was. */
const MAX_LATE_MS = 24 * 3_600_000

/**
 * What the message comes to with these reports. Each of delivery, bounce (for good, or for now), complaint and rejection happens once to a
 * message, and says the same in whatever order and how often it is heard.
 */
export function outcomeOf(mail: ReportedMail, reports: readonly ReportRow[], now: Date): Outcome {
  const first = (kind: ReportRow['kind']) =>
    reports.filter((report) => report.kind === kind).toSorted((a, b) => a.at.getTime() - b.at.getTime())[0]
  const delivery = first('DELIVERED')
  const bounce = first('BOUNCED')
  const softBounce = first('SOFT_BOUNCED')
  const complaint = first('COMPLAINED')
  const rejection = first('REJECTED')
  const isNew = {
    delivery: delivery !== undefined && mail.deliveredAt === null,
    bounce: bounce !== undefined && mail.bouncedAt === null,
    softBounce: softBounce !== undefined && mail.softBouncedAt === null,
    complaint: complaint !== undefined && mail.complainedAt === null,
    // A message that was given up here has its event.
    rejection: rejection !== undefined && mail.rejectedAt === null && mail.status !== 'FAILED',
  }
  const events: Outcome['events'] = []
  const record = (report: ReportRow | undefined, happens: boolean, name: string, data: object = {}) => {
    if (!report || !happens) return
    const at = new Date(Math.max(report.at.getTime(), now.getTime() - MAX_LATE_MS))
    events.push({ id: newId(at), name, data, at })
  }
  record(delivery, isNew.delivery, 'email.delivery')
  record(softBounce, isNew.softBounce, 'email.bounce', bounceData('Transient', softBounce))
  record(bounce, isNew.bounce, 'email.bounce', bounceData('Permanent', bounce))
  record(complaint, isNew.complaint, 'email.complaint', reasonOf(complaint))
  record(rejection, isNew.rejection, 'email.failed', reasonOf(rejection))
  const isOut = first('UNSUBSCRIBED') !== undefined
  return {
    id: mail.id,
    toEmail: mail.toEmail,
    status: complaint ? 'COMPLAINED' : bounce ? 'BOUNCED' : delivery ? 'DELIVERED' : null,
    deliveredAt: delivery?.at ?? null,
    bouncedAt: bounce?.at ?? null,
    softBouncedAt: softBounce?.at ?? null,
    complainedAt: complaint?.at ?? null,
    rejectedAt: rejection?.at ?? null,
    wasGivenUp: mail.status === 'FAILED',
    error: (isNew.bounce && bounce?.reason) || (isNew.rejection && rejection?.reason) || null,
    delivered: isNew.delivery ? 1 : 0,
    bounced: isNew.bounce ? 1 : 0,
    complained: isNew.complaint ? 1 : 0,
    events,
    unsubscribedBy: isNew.complaint ? 'complaint' : isNew.bounce ? 'bounce' : isOut ? 'link' : null,
    suppressedFor: isNew.complaint ? 'COMPLAINT' : isNew.bounce ? 'BOUNCE' : null,
    isSoftBounce: isNew.softBounce,
  }
}

const reasonOf = (report: ReportRow | undefined) => (report?.reason ? { reason: report.reason } : {})

const bounceData = (bounceType: 'Permanent' | 'Transient', report: ReportRow | undefined) => ({
  bounceType,
  reason: report?.reason ?? null,
})
