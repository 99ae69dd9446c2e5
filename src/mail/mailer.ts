import type { PartedText } from '../lib/text/parted-text.ts'

/** One address with an optional display name, as it will stand in a header. */
export type Mailbox = { address: string; name?: string | undefined }

/** A custom header. `asIs`: printable ASCII that came encoded already, and is not encoded again. */
export type MailHeader = { name: string; value: string; asIs?: boolean }

/**
 * A file that travels with a message; `content` holds the decoded bytes. An `alternative` is another form of the text, such
 * as an invitation (text/calendar). An `entity` is the content of the whole message (RFC 2045, 2.4), headers included,
 * which takes the place of HTML, text and all other files.
 */
export type MailAttachment = {
  filename: string
  content: Buffer
  contentType: string
  disposition: 'attachment' | 'inline' | 'alternative' | 'entity'
  contentId?: string | undefined
}

/** The key that signs for the sender's domain (RFC 6376). `privateKey` is PEM. */
export type DkimKey = { domain: string; selector: string; privateKey: string }

export type BodyParts = { html: PartedText; text: PartedText }

/** A message that is ready to leave: rendered, checked, addressed to exactly one recipient. */
export type OutgoingMail = {
  emailId: string
  projectId: string
  /** Message-ID with angle brackets; the same for every attempt, so that receivers can drop a repeat. */
  messageId: string
  date: Date
  from: Mailbox
  to: Mailbox
  replyTo?: string | undefined
  subject: string
  readonly html: string
  /** The plain-text part. */
  readonly text: string
  /** The same two, of a message that may be handed over together with others that have the same parts. */
  parts?: BodyParts | undefined
  /** Custom headers, in the order in which they were given. */
  headers: MailHeader[]
  /** To and Cc as readers see them, when they name others than the recipient. */
  shownTo?: string | undefined
  shownCc?: string | undefined
  attachments: MailAttachment[]
  dkim?: DkimKey | undefined
}

/**
 * What became of a hand-over.
 * - `temporary`: it is about this message, which may be tried again. `uncertain` is true when the whole message
 *   had been handed over and no answer came: it may have been accepted. `slowDown` is true when the receiving side asks
 *   for less mail: other messages to the same destination would fare alike.
 * - `permanent`: this message never succeeds.
 * - `provider`: the trouble is the provider's or the operator's (a refused log-in, an unknown host, an account or
 *   a sender domain that the provider does not serve). No message is at fault, so no attempt may be counted.
 *   `scope` says what is to pause: all mail, or only that of the sender's domain.
 *
 * `reason` is written for the person who reads it in the email's `error` field, `advice` for the operator: one
 * sentence that says what to do.
 */
export type DeliveryResult =
  | { kind: 'sent'; providerMessageId: string | null }
  | { kind: 'temporary'; reason: string; uncertain?: boolean; slowDown?: boolean }
  | { kind: 'permanent'; reason: string }
  | ({ kind: 'provider'; scope: 'account' | 'domain' } & ProviderTrouble)

export type ProviderTrouble = { reason: string; advice: string }

/** How a provider takes many messages in one call. */
export type Together = {
  /** Messages of one call at most. */
  most: number
  /** The addresses that may be among the recipients. */
  addresses: RegExp
  /** What the provider takes for words of its own, of at most `reach` characters; messages that say such go alone. */
  words: RegExp
  reach: number
}

/** A way out for mail. `send` never throws: every failure is a result. */
export interface Mailer {
  readonly provider: 'mailbox' | 'smtp' | 'mailgun' | 'ses'
  /** How many messages the provider takes at the same time. */
  readonly concurrency: number
  /** Warnings for the operator at the start, a sentence each. */
  readonly warnings: readonly string[]
  send(mail: OutgoingMail): Promise<DeliveryResult>
  /** Null when every message has a call of its own. */
  readonly together: Together | null
  /**
   * Hands over messages with the same sender, names of headers and common parts. A result for each; null when they do not fit
   * into one call, or the provider refuses all for what may be the fault of one: none has left, and fewer of them may
   * fare better. Never throws.
   */
  sendTogether(mails: OutgoingMail[]): Promise<DeliveryResult[] | null>
  /** Asks the provider whether it would take mail now; null when it would. Never throws, and ends within 10 s. */
  check(): Promise<ProviderTrouble | null>
  /** Lets messages under way finish and closes connections. */
  close(): Promise<void>
}
