import pg from 'pg'
import type { Logger } from 'pino'
import { within } from '../lib/async/within.ts'

const CONNECT_TIMEOUT_MS = 5_000
const RECONNECT_MS = 1_000
/** How often the listening connection is asked whether it is still there. */
const CHECK_MS = 10_000
/** How long to wait for confirmations that a database that no longer answers would never send. */
const CLOSE_TIMEOUT_MS = 1_000

type Ears = { heard: (payload: string) => void; connected: () => void }

/**
 * Tells workers of new work, such as mail: inserting a job notifies a channel of Postgres (`notify` in queue.ts), and one
 * connection of each process with workers listens to it, and is opened again when it is lost. Meanwhile, and for
 * notifications that were lost, workers look by themselves every second.
 */
export class JobListener {
  readonly #url: string
  readonly #channel: string
  readonly #log: Logger
  readonly #ears: Ears
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #check: NodeJS.Timeout | null = null
  #closed = false

  constructor(url: string, channel: string, log: Logger, ears: Ears) {
    this.#url = url
    this.#channel = channel
    this.#log = log
    this.#ears = ears
  }

  async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'mailwright notifications',
    })
    this.#client = client
    client.on('notification', ({ payload }) => this.#ears.heard(payload ?? ''))
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client))
    try {
      await client.connect()
      await client.query(`listen ${client.escapeIdentifier(this.#channel)}`)
      this.#check = setInterval(() => this.#ask(client), CHECK_MS)
      this.#ears.connected()
    } catch (error) {
      this.#lost(client, error)
    }
  }

  /** A connection that is silent may be dead; the time-out of the query tells. */
  #ask(client: pg.Client): void {
    client.query('select 1').catch((error: unknown) => this.#lost(client, error))
  }

  #lost(client: pg.Client, error?: unknown): void {
    if (this.#client !== client || this.#closed) return
    this.#log.debug({ err: error }, 'the connection for notifications was lost')
    this.#client = null
    if (this.#check) clearInterval(this.#check)
    // #end catches what goes wrong; connect comes back here.
    void this.#end(client)
    this.#retry = setTimeout(() => void this.connect(), RECONNECT_MS)
  }

  async #end(client: pg.Client): Promise<void> {
    const ended = client
      .end()
      .catch((error: unknown) => this.#log.debug({ err: error }, 'job listener: closing'))
    await within(CLOSE_TIMEOUT_MS, ended)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry) clearTimeout(this.#retry)
    if (this.#check) clearInterval(this.#check)
    if (this.#client) await this.#end(this.#client)
  }
}
