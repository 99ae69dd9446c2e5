import { createTransport, type NodemailerError } from 'nodemailer'
import { defineMailer, failed, messageOf } from './define-mailer.ts'
import type { DeliveryResult, Mailer } from './mailer.ts'
import { mailOptions } from './mime.ts'

/** Milliseconds; `send` bounds a whole hand-over, the wait for a free connection included. */
export type SmtpTimeouts = { connection: number; greeting: number; socket: number; send: number }

export type SmtpOptions = {
  /** `smtp://user:pass@host:port` or `smtps://…`, with nodemailer's options as query parameters. */
  url: string
  maxConnections?: number | undefined
  timeouts?: Partial<SmtpTimeouts> | undefined
}

const usualTimeouts: SmtpTimeouts = { connection: 10_000, greeting: 10_000, socket: 60_000, send: 300_000 }

/** Replies that ask for authentication or encryption: the operator's mistake, which must not cost mail. */
const accessReplies = new Set([530, 534, 535, 538])

/** Hands mail to an SMTP server over a pool of connections. Throws when `url` is no SMTP URL. */
export function createSmtpMailer({ url, maxConnections = 10, timeouts }: SmtpOptions): Mailer {
  if (!isSmtpUrl(url)) {
    throw new Error('The SMTP server must be given as smtp://user:password@host:port or smtps://…')
  }
  const limits = { ...usualTimeouts, ...timeouts }
  const transport = createTransport({
    url,
    pool: true,
    maxConnections,
    maxMessages: 1000,
    connectionTimeout: limits.connection,
    greetingTimeout: limits.greeting,
    socketTimeout: limits.socket,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  const { options } = transport

  return defineMailer({
    provider: 'smtp',
    concurrency: options.maxConnections ?? maxConnections,
    async deliver(mail) {
      // A server that trickles its replies never meets the socket's time-out.
      const overdue = new AbortController()
      const timer = setTimeout(() => overdue.abort(), limits.send)
      try {
        const { response } = await transport.sendMail({ ...mailOptions(mail), signal: overdue.signal })
        return { kind: 'sent', providerMessageId: queueId(response) }
      } finally {
        clearTimeout(timer)
      }
    },
    explain: (error) => explain(error, limits.send, options.auth?.pass),
    release: () => transport.close(),
  })
}

function isSmtpUrl(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed !== null && /^smtps?:$/.test(parsed.protocol) && parsed.hostname !== ''
}

function explain(error: unknown, patience: number, password: string | undefined): DeliveryResult {
  const failure: NodemailerError = error instanceof Error ? error : new Error(messageOf(error))
  if (failure.code === 'EABORT') return failed('temporary', `SMTP: not done within ${patience / 1000} s`)
  const reason = failure.response ?? `SMTP: ${failure.message}`
  return failed(refused(failure) ? 'permanent' : 'temporary', withoutSecret(reason, password))
}

/** True when the server, or nodemailer before it, refused this message or its addresses for good. */
function refused({ code, response, responseCode, permanent }: NodemailerError): boolean {
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return false
  if (responseCode === undefined) return response === undefined
  return permanent === true && !accessReplies.has(responseCode)
}

function withoutSecret(text: string, secret: string | undefined): string {
  return secret ? text.replaceAll(secret, '***') : text
}

/** Where Postfix, Exim, sendmail and Amazon SES name the message in their last reply. */
const queueIds = [
  /\bqueued as ["<]?([\w.@-]+)/i,
  /\bid=<?([\w.@-]+)/i,
  /^250 2\.0\.0 (\S+) Message accepted/i,
  /^250 Ok ([\da-f]+(?:-[\da-f]+)+)/i,
]

function queueId(reply: string): string | null {
  for (const pattern of queueIds) {
    const id = pattern.exec(reply)?.[1]
    if (id) return id
  }
  return null
}
