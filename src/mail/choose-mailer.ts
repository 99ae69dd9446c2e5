import type { MailConfig } from '../config.ts'
import { createMailboxMailer, type MailboxReader } from './mailbox.ts'
import type { Mailer } from './mailer.ts'
import { createMailgunMailer } from './mailgun.ts'
import { createSesMailer } from './ses/ses.ts'
import { createSmtpMailer } from './smtp.ts'

export function chooseMailer(mail: MailConfig, now: () => Date): Mailer {
  switch (mail.provider) {
    case 'smtp':
      return createSmtpMailer({ url: mail.url, maxConnections: mail.connections, ehloName: mail.ehloName })
    case 'mailgun':
      return createMailgunMailer({ apiKey: mail.apiKey, url: mail.url })
    case 'ses':
      return createSesMailer(mail)
    case 'mailbox':
      return createMailboxMailer({ directory: mail.directory, now })
  }
}

/** Source of the mailbox's page; null when mail really leaves. */
export const mailboxReader = (mail: MailConfig): MailboxReader | null =>
  mail.provider === 'mailbox' ? createMailboxMailer({ directory: mail.directory }) : null
