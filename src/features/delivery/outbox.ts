import type { Services } from '../../ctx.ts'
import { decrypt, deriveKey } from '../../lib/secrets.ts'
import type { DkimKey, OutgoingMail } from '../../mail/mailer.ts'
import type { MailBody } from './contents.ts'
import { attachmentsOfSet, type DueEmail } from './delivery.sql.ts'

const MAX_KEYS = 1_000

/** Puts a message in the form that providers take. */
export class Outbox {
  readonly #services: Services
  readonly #encryptionKey: Buffer
  readonly #dkimKeys = new Map<string, string>()

  constructor(services: Services) {
    this.#services = services
    this.#encryptionKey = deriveKey(services.config.encryptionSecret, 'mailwright secrets at rest')
  }

  async outgoing(email: DueEmail, body: MailBody): Promise<OutgoingMail> {
    const { delivery } = this.#services.database
    const files = email.attachmentSetId
      ? await delivery(attachmentsOfSet, { projectId: email.projectId, setId: email.attachmentSetId })
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
      // A body in parts is put together when it is asked for.
      get html() {
        return body.html
      },
      get text() {
        return body.text
      },
      parts: body.parts,
      headers: email.headers ?? [],
      attachments: files.map((file) => ({ ...file, contentId: file.contentId ?? undefined })),
      dkim: this.#dkimOf(email),
    }
  }

  #dkimOf(email: DueEmail): DkimKey | undefined {
    const { dkimDomain, dkimSelector, dkimPrivateKey } = email
    if (!dkimDomain || !dkimSelector || !dkimPrivateKey) return undefined
    const sealed = dkimPrivateKey.toString('base64')
    const privateKey = this.#dkimKeys.get(sealed) ?? decrypt(this.#encryptionKey, dkimPrivateKey)
    if (this.#dkimKeys.size >= MAX_KEYS) this.#dkimKeys.clear()
    this.#dkimKeys.set(sealed, privateKey)
    return { domain: dkimDomain, selector: dkimSelector, privateKey }
  }
}
