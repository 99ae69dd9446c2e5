import { Readable } from 'node:stream'
import { createTransport, type NodemailerError, type Transporter } from 'nodemailer'
import MailMessage from 'nodemailer/lib/mailer/mail-message.js'
import MimeNode from 'nodemailer/lib/mime-node'
import type { SMTPPoolOptions, SMTPPoolSentMessageInfo } from 'nodemailer/lib/smtp-pool'
import { isLoopbackHost } from '../lib/net/loopback.ts'
import { defineMailer, messageOf } from './define-mailer.ts'
import type { DeliveryResult, Mailer } from './mailer.ts'
import { composeMessage, SigningKeys } from './mime.ts'
import { explainSmtp, type Progress } from './smtp-failures.ts'

/** Milliseconds; `send` bounds a whole hand-over, the wait for a free connection included. */
export type SmtpTimeouts = { connection: number; greeting: number; socket: number; send: number }

export type SmtpOptions = {
  /**
   * `smtp://user:pass@host:port` or `smtps://…`, with nodemailer's options as query parameters. `tls=optional` lets a
   * password go to another machine unencrypted when the server offers no TLS.
   */
  url: string
  maxConnections?: number | undefined
  /** The name that this host gives itself in EHLO; nodemailer's choice when absent. */
  ehloName?: string | undefined
  timeouts?: Partial<SmtpTimeouts> | undefined
}

const USUAL_TIMEOUTS: SmtpTimeouts = { connection: 10_000, greeting: 10_000, socket: 60_000, send: 300_000 }

/** Hands mail to an SMTP server over a pool of connections. Throws when `url` is no SMTP URL. */
export function createSmtpMailer({ url, maxConnections = 10, ehloName, timeouts }: SmtpOptions): Mailer {
  if (!isSmtpUrl(url)) {
    throw new Error('The SMTP server must be given as smtp://user:password@host:port or smtps://…')
  }
  const limits = { ...USUAL_TIMEOUTS, ...timeouts }
  const common = commonOptions(url, ehloName, limits)
  const transport = createTransport({ ...common, pool: true, maxConnections, maxMessages: 1000 })
  const { options } = transport
  const password = options.auth?.pass
  const keys = new SigningKeys()

  return defineMailer({
    provider: 'smtp',
    concurrency: options.maxConnections ?? maxConnections,
    warnings: isExposed(options) ? [EXPOSED] : [],
    async deliver(mail) {
      const { from, to, raw } = await composeMessage(mail, keys)
      const message = new FinishedMessage(raw, { from, to: [to] })
      try {
        return { kind: 'sent', providerMessageId: queueId(await handOver(transport, message, limits.send)) }
      } catch (error) {
        return explain(error, message.progress, password)
      }
    },
    async probe() {
      // A connection of its own, because the pool's may all be busy.
      const socketTimeout = Math.min(limits.socket, LONGEST_SILENCE_MS)
      try {
        await createTransport({ ...common, socketTimeout }).verify()
        return { kind: 'sent', providerMessageId: null }
      } catch (error) {
        return explain(error, 'connecting', password)
      }
    },
    release: () => transport.close(),
  })
}

const commonOptions = (url: string, name: string | undefined, limits: SmtpTimeouts) => ({
  url: withEncryption(url),
  name,
  connectionTimeout: limits.connection,
  greetingTimeout: limits.greeting,
  socketTimeout: limits.socket,
  disableFileAccess: true,
  disableUrlAccess: true,
})

type Pool = Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>

/** Gives the message to the pool, past what nodemailer does to compose one, and resolves with the last reply. */
async function handOver(transport: Pool, message: FinishedMessage, patience: number): Promise<string> {
  // A server that trickles its replies never meets the socket's time-out.
  const overdue = new AbortController()
  const late = new Error(`not done within ${patience / 1000} s`)
  const timer = setTimeout(() => overdue.abort(late), patience)
  const entry = new MailMessage(transport, { signal: overdue.signal })
  entry.message = message
  try {
    return await new Promise((resolve, reject) => {
      transport.transporter.send(entry, (error, answer) => {
        if (error) reject(overdue.signal.aborted ? late : error)
        else resolve(answer?.response ?? '')
      })
    })
  } finally {
    clearTimeout(timer)
  }
}

const CHUNK_BYTES = 65_536
const TURN_BYTES = 16 * CHUNK_BYTES

/** The message as the pool takes it: opened once a connection is ready for it, read to its end once it is wanted. */
class FinishedMessage extends MimeNode {
  progress: Progress = 'connecting'
  readonly #raw: Buffer

  constructor(raw: Buffer, envelope: { from: string; to: string[] }) {
    super('message/rfc822', { baseBoundary: 'none' })
    this.#raw = raw
    this.setEnvelope(envelope)
  }

  /** The pool asks for one to log it, and would draw one; the message has its own. */
  override messageId(): string {
    return ''
  }

  override createReadStream(): Readable {
    const raw = this.#raw
    let position = 0
    this.progress = 'talking'
    const stream = new Readable({
      read() {
        const push = () => {
          const end = position + CHUNK_BYTES
          this.push(position < raw.length ? raw.subarray(position, end) : null)
          position = end
        }
        // Others have the event loop after each of them: a server that is quick would take all in one go.
        if (position > 0 && position % TURN_BYTES === 0) setImmediate(push)
        else push()
      },
    })
    return stream.once('end', () => {
      this.progress = 'written'
    })
  }
}

/** Milliseconds that a check waits for a reply. */
const LONGEST_SILENCE_MS = 5_000

function isSmtpUrl(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed !== null && /^smtps?:$/.test(parsed.protocol) && parsed.hostname !== ''
}

/** The address as nodemailer takes it: without our own parameter, and with TLS required where a password is exposed. */
function withEncryption(given: string): string {
  const url = new URL(given)
  const isOptional = url.searchParams.get('tls') === 'optional'
  url.searchParams.delete('tls')
  if (!isOptional && isExposed(createTransport({ url: url.href }).options)) {
    url.searchParams.set('requireTLS', 'true')
  }
  return url.href
}

const EXPOSED =
  'SMTP_URL holds a password and says tls=optional: an attacker between this machine and the server can read the ' +
  'password and all mail.'

type Security = {
  auth?: { user?: string | undefined; pass?: string | undefined } | undefined
  secure?: boolean | undefined
  requireTLS?: boolean | undefined
  host?: string | undefined
}

/**
 * Whether a password may leave this machine unencrypted: an attacker who strips STARTTLS from the replies
 * would read it.
 */
function isExposed({ auth, secure, requireTLS, host = '' }: Security): boolean {
  return Boolean(auth?.user || auth?.pass) && !secure && requireTLS !== true && !isLoopbackHost(host)
}

function explain(thrown: unknown, progress: Progress, password: string | undefined): DeliveryResult {
  const error: NodemailerError = thrown instanceof Error ? thrown : new Error(messageOf(thrown))
  const reason = error.response ?? `SMTP: ${error.message}`
  return explainSmtp(error, progress, password ? reason.replaceAll(password, '***') : reason)
}

/** Where Postfix, Exim, sendmail and Amazon SES name the message in their last reply. */
const QUEUE_IDS = [
  /\bqueued as ["<]?([\w.@-]+)/i,
  /\bid=<?([\w.@-]+)/i,
  /^250 2\.0\.0 (\S+) Message accepted/i,
  /^250 Ok ([\da-f]+(?:-[\da-f]+)+)/i,
]

function queueId(reply: string): string | null {
  for (const pattern of QUEUE_IDS) {
    const id = pattern.exec(reply)?.[1]
    if (id) return id
  }
  return null
}
