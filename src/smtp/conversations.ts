import type { SMTPServer, SMTPServerError } from 'smtp-server'
import { STOPPING, TOO_SLOW } from './replies.ts'

const SECOND = 1_000
/** A client that has shown no key, or handed in no message, has this long. */
const STRANGER_MS = 60 * SECOND
/** Between two messages. RFC 5321, 4.5.3.2.7: at least five minutes for a command. */
const IDLE_MS = 310 * SECOND
/** For a whole message, of which RFC 5321 lets each part take minutes. */
const MESSAGE_MS = 600 * SECOND
const LOOK_EVERY_MS = 5 * SECOND

type Conversation = { endsAt: number; isBusy: boolean }

/**
 * The connections of the servers, each with the time at which it is given up: a byte now and then keeps none open. Times are
 * those of a clock that nobody sets.
 */
export class Conversations {
  readonly #servers: SMTPServer[] = []
  readonly #known = new Map<string, Conversation>()
  readonly #looking: NodeJS.Timeout
  #isStopping = false

  constructor() {
    this.#looking = setInterval(() => this.#endSlow(), LOOK_EVERY_MS)
    this.#looking.unref()
  }

  watch(server: SMTPServer): void {
    this.#servers.push(server)
  }

  begin(id: string): void {
    this.#known.set(id, { endsAt: performance.now() + STRANGER_MS, isBusy: false })
  }

  /** False once the client has hung up, which it may do while something is worked out for it. */
  isOpen(id: string): boolean {
    return this.#known.has(id)
  }

  /** A key was shown, or a message has been answered. */
  goesOn(id: string): void {
    if (!this.isOpen(id)) return
    this.#known.set(id, { endsAt: performance.now() + IDLE_MS, isBusy: false })
    // The answer goes first.
    if (this.#isStopping) setImmediate(() => this.hangUp(id, STOPPING))
  }

  /** A message is being received and worked on. */
  receives(id: string): void {
    if (!this.isOpen(id)) return
    this.#known.set(id, { endsAt: performance.now() + MESSAGE_MS, isBusy: true })
  }

  end(id: string): void {
    this.#known.delete(id)
  }

  /** Ends a connection with a last reply. */
  hangUp(id: string, { responseCode = 421, message }: SMTPServerError): void {
    for (const server of this.#servers) {
      for (const connection of server.connections) {
        if (connection.id !== id) continue
        connection.send(responseCode, message)
        connection.close()
      }
    }
  }

  /** Ends all connections but those with a message under way, which end with its answer. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#looking)
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    )
    for (const [id, { isBusy }] of this.#known) if (!isBusy) this.hangUp(id, STOPPING)
    await Promise.all(closed)
  }

  #endSlow(): void {
    const now = performance.now()
    for (const [id, { endsAt }] of this.#known) if (endsAt < now) this.hangUp(id, TOO_SLOW)
  }
}
