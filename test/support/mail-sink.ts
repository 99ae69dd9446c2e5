import { setTimeout as pause } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'

/** One complete message that reached the server, whether its sender lived to hear "ok" or not. */
export type Arrival = { to: string; messageId: string; raw: Buffer; at: number }

/** What the server answers in place of "ok", at the recipient's address or after the whole message. */
export type Refusal = { at: 'RCPT' | 'DATA'; code: number; text: string }

export type MailSinkOptions = {
  /** How long the server keeps a message before it says "ok", in milliseconds. */
  holdMs?: number
  /** Asked at each attempt; they count from 1 for every recipient. */
  refuse?: (to: string, attempt: number) => Refusal | null
}

export type MailSink = Awaited<ReturnType<typeof startMailSink>>

/** An SMTP server on loopback that takes mail for everybody, and can be slow or unwilling. */
export async function startMailSink({ holdMs = 0, refuse = () => null }: MailSinkOptions = {}) {
  const arrivals: Arrival[] = []
  /** Messages that came in whole and were then refused. */
  const refused: Arrival[] = []
  const attempts = new Map<string, number>()
  const underWay = new Set<Arrival>()
  let gate: Promise<void> = Promise.resolve()

  const refusalOf = (to: string, at: Refusal['at']): Error | null => {
    const refusal = refuse(to, attempts.get(to) ?? 1)
    return refusal?.at === at ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null
  }

  const take = async (arrival: Arrival): Promise<Error | null> => {
    const refusal = refusalOf(arrival.to, 'DATA')
    ;(refusal ? refused : arrivals).push(arrival)
    underWay.add(arrival)
    await gate
    if (holdMs > 0) await pause(holdMs)
    underWay.delete(arrival)
    return refusal
  }

  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideSTARTTLS: true,
    closeTimeout: 10,
    logger: false,
    onRcptTo({ address }, _session, done) {
      attempts.set(address, (attempts.get(address) ?? 0) + 1)
      done(refusalOf(address, 'RCPT'))
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.once('end', () => {
        const raw = Buffer.concat(chunks)
        const to = envelope.rcptTo[0]?.address ?? ''
        take({ to, messageId: messageIdOf(raw), raw, at: Date.now() }).then(done, done)
      })
    },
  })
  // Senders that are killed in the middle of a message are what the tests are about.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    arrivals,
    refused,
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
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

function countsOf(arrivals: readonly Arrival[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { to } of arrivals) counts.set(to, (counts.get(to) ?? 0) + 1)
  return counts
}

const messageIdOf = (raw: Buffer): string =>
  /^message-id:\s*(\S+)/im.exec(raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? ''
