import type { Services } from '../../ctx.ts'
import { decrypt, deriveKey } from '../../lib/secrets.ts'
import type { DeliveryResult, DkimKey, OutgoingMail } from '../../mail/mailer.ts'
import { retryDelay, storable } from './delivery.rules.ts'
import { attachmentsOfSet, type ClaimedEmail, type OutcomeStatus } from './delivery.sql.ts'

/** What is to be written about one message after a hand-over, or instead of one. */
export type Outcome = {
  status: OutcomeStatus
  providerMessageId: string | null
  error: string | null
  dueAt: Date
  event: { name: string; data: object } | null
}

/** Why a message is not handed over at all; null when it is. Checked last, for what changed while it waited. */
export function suppressionOf(email: ClaimedEmail): string | null {
  if (email.type !== 'TRANSACTIONAL' && !email.subscribed) return 'The contact has unsubscribed.'
  return null
}

const lifecycleData = (email: ClaimedEmail) => ({
  emailId: email.id,
  subject: email.subject,
  from: email.from,
  messageId: email.messageId,
  templateId: email.templateId,
  campaignId: email.campaignId,
  sourceType: email.sourceType,
})

/** Decides what a hand-over comes to: done, tried again later, or given up. `random` is between 0 and 1. */
export function outcomeOf(email: ClaimedEmail, result: DeliveryResult, now: Date, random: number): Outcome {
  if (result.kind === 'sent') {
    const providerMessageId = result.providerMessageId && storable(result.providerMessageId)
    const event = { name: 'email.sent', data: lifecycleData(email) }
    return { status: 'SENT', providerMessageId, error: null, dueAt: email.dueAt, event }
  }
  const reason = storable(result.reason)
  const delay = result.kind === 'temporary' ? retryDelay(email.attempts, random) : null
  if (delay === null) return givenUp(email, 'FAILED', reason)
  const dueAt = new Date(now.getTime() + delay)
  return { status: 'PENDING', providerMessageId: null, error: reason, dueAt, event: null }
}

export const givenUp = (email: ClaimedEmail, status: 'FAILED' | 'SUPPRESSED', reason: string): Outcome => ({
  status,
  providerMessageId: null,
  error: reason,
  dueAt: email.dueAt,
  event: {
    name: status === 'FAILED' ? 'email.failed' : 'email.suppressed',
    data: { ...lifecycleData(email), reason },
  },
})

/** Reads what a claimed message still lacks and puts it in the form that providers take. */
export class Outbox {
  readonly #services: Services
  readonly #encryptionKey: Buffer
  readonly #dkimKeys = new Map<string, string>()

  constructor(services: Services) {
    this.#services = services
    this.#encryptionKey = deriveKey(services.config.encryptionSecret, 'secrets at rest')
  }

  async outgoing(email: ClaimedEmail, html: string): Promise<OutgoingMail> {
    const { sql } = this.#services.database
    const files = email.attachmentSetId
      ? await sql(attachmentsOfSet, [email.projectId, email.attachmentSetId])
      : []
    return {
      emailId: email.id,
      projectId: email.projectId,
      messageId: email.messageId,
      date: email.createdAt,
      from: { address: email.from, name: email.fromName ?? undefined },
      to: { address: email.toEmail, name: email.toName ?? undefined },
      replyTo: email.replyTo ?? undefined,
      subject: email.subject,
      html,
      text: null,
      headers: email.headers ?? [],
      attachments: files.map((file) => ({ ...file, contentId: file.contentId ?? undefined })),
      dkim: this.#dkimOf(email),
    }
  }

  #dkimOf(email: ClaimedEmail): DkimKey | undefined {
    const { dkimDomain, dkimSelector, dkimPrivateKey } = email
    if (!dkimDomain || !dkimSelector || !dkimPrivateKey) return undefined
    const sealed = dkimPrivateKey.toString('base64')
    const privateKey = this.#dkimKeys.get(sealed) ?? decrypt(this.#encryptionKey, dkimPrivateKey)
    if (this.#dkimKeys.size >= 1_000) this.#dkimKeys.clear()
    this.#dkimKeys.set(sealed, privateKey)
    return { domain: dkimDomain, selector: dkimSelector, privateKey }
  }
}
