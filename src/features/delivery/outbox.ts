import type { Services } from '../../ctx.ts'
import type { DkimKey, MailHeader, OutgoingMail } from '../../mail/mailer.ts'
import { attachmentsOfSet, type DueEmail } from './delivery.sql.ts'

/** What a message says; messages of a campaign that may leave together have it in parts. */
export type MailBody = Pick<OutgoingMail, 'html' | 'text' | 'parts'>

const MAX_KEYS = 1_000

/**
 * Custom headers, and the lists of recipients of a message that names others than its own recipient; no request can set
 * headers with those names.
 */
function shownHeaders(headers: MailHeader[]): Pick<OutgoingMail, 'headers' | 'shownTo' | 'shownCc'> {
  return {
    headers: headers.filter(({ name }) => name !== 'To' && name !== 'Cc'),
    shownTo: headers.find(({ name }) => name === 'To')?.value,
    shownCc: headers.find(({ name }) => name === 'Cc')?.value,
  }
}

/** Puts a message in the form that providers take. */
export class Outbox {
  readonly #services: Services
  readonly #dkimKeys = new Map<string, string>()

  constructor(services: Services) {
    this.#services = services
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
      ...shownHeaders(email.headers ?? []),
      attachments: files.map((file) => ({ ...file, contentId: file.contentId ?? undefined })),
      dkim: this.#dkimOf(email),
    }
  }

  #dkimOf(email: DueEmail): DkimKey | undefined {
    const { dkimDomain, dkimSelector, dkimPrivateKey } = email
    const { mail, sealing } = this.#services.config
    // These providers sign with keys of their own, whose records are published instead.
    if (mail.provider === 'mailgun' || mail.provider === 'ses') return undefined
    if (!dkimDomain || !dkimSelector || !dkimPrivateKey) return undefined
    const sealed = dkimPrivateKey.toString('base64')
    const privateKey = this.#dkimKeys.get(sealed) ?? sealing.open(dkimPrivateKey)
    if (this.#dkimKeys.size >= MAX_KEYS) this.#dkimKeys.clear()
    this.#dkimKeys.set(sealed, privateKey)
    return { domain: dkimDomain, selector: dkimSelector, privateKey }
  }
}
