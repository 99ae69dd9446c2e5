import pg from 'pg'
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { within } from '../lib/within.ts'

const CHANNEL = 'mailwright_mail'
/** Calls within this time share one NOTIFY. */
const GATHER_MS = 5
const RECONNECT_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000
/** How long to wait for what a database that no longer answers would never confirm. */
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Tells workers of all processes that mail is waiting. The NOTIFY is sent after the request's commit, on its
 * own and at most every few milliseconds: inside the transactions it would make their commits wait for each
 * other. One that is lost costs a second, the workers look by themselves then.
 */
export class WakeUp {
  readonly #database: Database
  readonly #log: Logger
  #gathering: NodeJS.Timeout | null = null
  #sending: Promise<void> | null = null
  #listener: pg.Client | null = null
  #reconnect: NodeJS.Timeout | null = null
  #closed = false

  constructor(database: Database, log: Logger) {
    this.#database = database
    this.#log = log
  }

  notify(): void {
    if (this.#gathering || this.#closed) return
    this.#gathering = setTimeout(() => this.#send(), GATHER_MS)
  }

  #send(): void {
    this.#gathering = null
    this.#sending = this.#database.pool.query(`notify ${CHANNEL}`).then(
      () => {},
      (error: unknown) => this.#log.debug({ err: error }, 'wake-up was not sent'),
    )
  }

  /** Calls `wake` at every notification, and keeps listening when the connection is lost. */
  async listen(wake: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#database.url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'mailwright wake-up',
    })
    this.#listener = client
    client.on('notification', wake)
    client.on('error', (error) => this.#log.debug({ err: error }, 'wake-up connection lost'))
    client.on('end', () => {
      if (this.#listener === client) this.#listenAgain(wake)
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch (error) {
      this.#log.debug({ err: error }, 'wake-up connection failed')
      this.#listenAgain(wake)
      await this.#end(client)
    }
  }

  /** A connection that is open but of no use would otherwise stay, and the next attempt would open another one. */
  async #end(client: pg.Client): Promise<void> {
    const ended = client.end().catch((error: unknown) => this.#log.debug({ err: error }, 'wake-up close'))
    await within(CLOSE_TIMEOUT_MS, ended)
  }

  #listenAgain(wake: () => void): void {
    if (this.#closed || this.#reconnect) return
    this.#reconnect = setTimeout(() => {
      this.#reconnect = null
      // listen catches what goes wrong and comes back here.
      void this.listen(wake)
    }, RECONNECT_MS)
  }

  /** Sends what has been gathered: the workers of other processes go on. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#gathering) {
      clearTimeout(this.#gathering)
      this.#send()
    }
    if (this.#sending) await within(CLOSE_TIMEOUT_MS, this.#sending)
    if (this.#reconnect) clearTimeout(this.#reconnect)
    if (this.#listener) await this.#end(this.#listener)
  }
}
