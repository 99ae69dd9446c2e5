import { setTimeout as pause } from 'node:timers/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { listen } from './listen.ts'

/** One complete message that reached the server, whether its sender lived to hear "ok" or not. */
export type Arrival = {
  from: string
  to: string
  recipients: string[]
  messageId: string
  raw: Buffer
  at: number
}

/** What the server answers in place of "ok", at the recipient's address or after the whole message. */
export type Refusal = { at: 'RCPT' | 'DATA'; code: number; text: string }

export type MailSinkOptions = {
  /** How long the server keeps a message before it says "ok", in milliseconds. */
  holdMs?: number
  /**
   * Asked at each attempt; they count from 1 for every recipient. Silence: the message is taken, but never answered, so
   * that its sender gives up waiting.
   */
  refuse?: (to: string, attempt: number) => Refusal | 'silence' | null
  /** More for the server: log-ins, TLS. */
  server?: SMTPServerOptions
}

/** An SMTP server on loopback that asks for no log-in and offers no TLS unless it is told to. */
export async function startSmtpServer(options: SMTPServerOptions) {
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideSTARTTLS: true,
    closeTimeout: 10,
    logger: false,
    ...options,
  })
  // Senders that give up, or are killed, in the middle of a message are what many tests are about.
  server.on('error', () => undefined)
  const port = await listen(server.server)
  const host = `127.0.0.1:${port}`
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  return { port, host, url: `smtp://${host}`, stop }
}

export type MailSink = Awaited<ReturnType<typeof startMailSink>>

/** An SMTP server on loopback that takes mail for everybody, and can be slow or unwilling. */
export async function startMailSink({
  holdMs = 0,
  refuse = () => null,
  server: more = {},
}: MailSinkOptions = {}) {
  const arrivals: Arrival[] = []
  /** Messages that came in whole and were then refused. */
  const refused: Arrival[] = []
  /** Messages that were taken in silence. */
  const unanswered: Arrival[] = []
  /** Connections that brought messages. */
  const sessions = new Set<string>()
  const attempts = new Map<string, number>()
  const underWay = new Set<Arrival>()
  let gate: Promise<void> = Promise.resolve()

  const answerTo = (to: string) => refuse(to, attempts.get(to) ?? 1)

  const refusalOf = (to: string, at: Refusal['at']): Error | null => {
    const refusal = answerTo(to)
    if (refusal === null || refusal === 'silence' || refusal.at !== at) return null
    return Object.assign(new Error(refusal.text), { responseCode: refusal.code })
  }

  const take = async (arrival: Arrival): Promise<Error | null> => {
    const refusal = refusalOf(arrival.to, 'DATA')
    ;(refusal ? refused : arrivals).push(arrival)
    if (answerTo(arrival.to) === 'silence') {
      unanswered.push(arrival)
      return new Promise(() => undefined)
    }
    underWay.add(arrival)
    await gate
    if (holdMs > 0) await pause(holdMs)
    underWay.delete(arrival)
    return refusal
  }

  const server = await startSmtpServer({
    onRcptTo({ address }, _session, done) {
      attempts.set(address, (attempts.get(address) ?? 0) + 1)
      done(refusalOf(address, 'RCPT'))
    },
    onData(stream, { id, envelope: { mailFrom, rcptTo } }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.once('end', () => {
        sessions.add(id)
        const raw = Buffer.concat(chunks)
        const recipients = rcptTo.map(({ address }) => address)
        const from = mailFrom ? mailFrom.address : ''
        const to = recipients[0] ?? ''
        take({ from, to, recipients, messageId: messageIdOf(raw), raw, at: Date.now() }).then(
          (error) => done(error, `2.0.0 Ok: queued as Q${arrivals.length}`),
          done,
        )
      })
    },
    ...more,
  })
  return {
    ...server,
    arrivals,
    refused,
    unanswered,
    sessions,
    /** Messages that are in, and whose sender waits for the answer. */
    underWay,
    /** How often a recipient was named, refusals included. */
    attemptsFor: (to: string) => attempts.get(to) ?? 0,
    /** Messages by recipient. */
    counts: () => countsOf(arrivals),
    /** From now on no message is answered until the function that this returns is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
  }
}

function countsOf(arrivals: readonly Arrival[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { to } of arrivals) counts.set(to, (counts.get(to) ?? 0) + 1)
  return counts
}

const messageIdOf = (raw: Buffer): string =>
  /^message-id:\s*(\S+)/im.exec(raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? ''
