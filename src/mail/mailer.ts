/** One address with an optional display name, as it will stand in a header. */
export type Mailbox = { address: string; name?: string | undefined }

/** A file that travels with a message; `content` holds the decoded bytes. */
export type MailAttachment = {
  filename: string
  content: Buffer
  contentType: string
  disposition: 'attachment' | 'inline'
  contentId?: string | undefined
}

/** The key that signs for the sender's domain (RFC 6376). `privateKey` is PEM. */
export type DkimKey = { domain: string; selector: string; privateKey: string }

/** A message that is ready to leave: rendered, checked, addressed to exactly one recipient. */
export type OutgoingMail = {
  emailId: string
  projectId: string
  /** With angle brackets; the same for every attempt, so that receivers can drop a repeat. */
  messageId: string
  date: Date
  from: Mailbox
  to: Mailbox
  replyTo?: string | undefined
  subject: string
  html: string
  /** Null when the text part is to be made from `html`. */
  text: string | null
  /** Custom headers, in the order in which they were given. */
  headers: { name: string; value: string }[]
  attachments: MailAttachment[]
  dkim?: DkimKey | undefined
}

/**
 * What became of a hand-over. `temporary` may be tried again; `permanent` never succeeds for this message.
 * `reason` is written for the person who reads it in the email's `error` field.
 */
export type DeliveryResult =
  | { kind: 'sent'; providerMessageId: string | null }
  | { kind: 'temporary'; reason: string }
  | { kind: 'permanent'; reason: string }

/** A way out for mail. `send` never throws: every failure is a result. */
export interface Mailer {
  readonly provider: 'mailbox' | 'smtp' | 'mailgun'
  /** How many messages the provider takes at the same time. */
  readonly concurrency: number
  send(mail: OutgoingMail): Promise<DeliveryResult>
  /** Lets messages under way finish and closes connections. */
  close(): Promise<void>
}
