import { isId } from '../../lib/ids.ts'
import { cutText } from '../../lib/text/cut-text.ts'
import { storableText } from '../../lib/text/storable.ts'
import { domainOf, isEmailAddress, normalizeEmail } from '../../messages/email-address.rules.ts'

/** What can be told of a message, as the database has it too. */
export type ReportKind =
  | 'DELIVERED'
  | 'BOUNCED'
  | 'SOFT_BOUNCED'
  | 'COMPLAINED'
  | 'REJECTED'
  | 'OPENED'
  | 'CLICKED'
  | 'UNSUBSCRIBED'
  | 'NOT_RECEIVED'

/** What a provider, or another mail server, says of one message to one receiver. */
export type Report = {
  kind: ReportKind
  /** When it happened. */
  at: Date
  /** The message by its own id; null when the report does not name it. */
  emailId: string | null
  /** By it the project is found, when that is not known. */
  senderDomain: string
  projectId: string | null
  recipient: string | null
  providerMessageId: string | null
  /** Of bounces and complaints, for people. */
  reason: string | null
  /** Where a link led that was followed. */
  link: string | null
  /** What opened it, by its own name, and whether the reporter takes it for a machine. */
  agent: { name: string; machine: boolean } | null
}

/** A notification as it came: `id` is that of the source, under which a repeat is known. */
export type Notification = {
  source: string
  id: string
  /** What may be used once beside the id; null when the id is signed itself. */
  token: string | null
  reports: Report[]
}

const MAX_REASON = 1_000
const MAX_LINK = 4_096
const MAX_PROVIDER_ID = 255

type Named = {
  /** Message-ID of the message, with or without angle brackets. */
  messageId?: string | undefined
  /** An id that a reporter gives back. */
  emailId?: string | undefined
  /** An address or a domain; used where the Message-ID has none. */
  sender?: string | undefined
  recipient?: string | undefined
  providerMessageId?: string | undefined
  reason?: string | undefined
  link?: string | undefined
  agent?: Report['agent']
}

/**
 * A report from what others have written: each part is bounded and storable. A Message-ID of this service is the id of the
 * message at the sender's domain (see `messageIdOf`).
 */
export function reportOf(kind: ReportKind, at: Date, named: Named): Report {
  const [, local = '', domain = ''] = MESSAGE_ID.exec(named.messageId?.trim() ?? '') ?? []
  const emailId = [local, named.emailId ?? ''].find(isId)?.toLowerCase() ?? null
  return {
    kind,
    at,
    emailId,
    senderDomain: domainOf(isId(local) ? domain : (named.sender ?? domain)),
    projectId: null,
    recipient: addressIn(named.recipient),
    providerMessageId: bounded(named.providerMessageId, MAX_PROVIDER_ID)?.replace(/^<|>$/g, '') ?? null,
    reason: bounded(named.reason, MAX_REASON),
    link: bounded(named.link, MAX_LINK),
    agent: named.agent ?? null,
  }
}

const MESSAGE_ID = /^<?([^@<>\s]{1,255})@([^@<>\s]{1,255})>?$/

/** The address in a text such as "Ada <ada@example.com>". */
export function addressIn(text: string | undefined): string | null {
  const [, inBrackets] = /<([^<>]{1,320})>/.exec(text ?? '') ?? []
  const email = normalizeEmail((inBrackets ?? text ?? '').slice(0, 320))
  return isEmailAddress(email) ? email : null
}

const bounded = (text: string | undefined, most: number): string | null =>
  text?.trim() ? cutText(storableText(text.trim()), most) : null

/** A time that somebody else has written; that of the notification when it is none. */
export function timeIn(text: unknown, otherwise: Date): Date {
  const time = typeof text === 'string' ? new Date(text) : otherwise
  return Number.isNaN(time.getTime()) || time > otherwise ? otherwise : time
}
