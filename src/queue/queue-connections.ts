import pg from 'pg'
import type { Db } from 'pg-boss'
import type { Logger } from 'pino'
import { withOptions } from '../db/database-url.ts'
import { Pool } from '../db/pool.ts'
import { within } from '../lib/async/within.ts'

type ListenHandle = Awaited<ReturnType<NonNullable<Db['listen']>>>

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 15_000
const RECONNECT_MS = 1_000
/** How often the listening connection is asked whether it is still there. */
const CHECK_MS = 10_000
/** How long to wait for confirmations that a database that no longer answers would never send. */
const CLOSE_TIMEOUT_MS = 1_000

/**
 * The queue's own few connections, which no request and no slice can take: heartbeats get through whatever else
 * runs. One more listens for notifications, in processes with workers.
 */
export class QueueConnections implements Db {
  readonly #url: string
  readonly #log: Logger
  readonly #pool: Pool
  readonly #quickPool: Pool
  readonly #listeners = new Set<(queue: string) => void>()
  /**
   * Connections whose commits do not wait for the disk. A request for work that is lost when the database server crashes
   * is found by the sweep, and a turn whose removal is lost finds nothing to do.
   */
  readonly quick: Db

  constructor(url: string, log: Logger, connections: number) {
    this.#url = url
    this.#log = log
    this.#pool = this.#newPool(url, connections)
    this.#quickPool = this.#newPool(withOptions(url, '-c synchronous_commit=off'), connections)
    this.quick = { executeSql: async (text, values) => this.#quickPool.query(text, values) }
  }

  #newPool(connectionString: string, max: number): Pool {
    const pool = new Pool({
      connectionString,
      max,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'mailwright queue',
    })
    pool.on('error', (error) => this.#log.debug({ err: error }, 'queue connection lost'))
    return pool
  }

  async executeSql(text: string, values?: unknown[]) {
    return this.#pool.query(text, values)
  }

  /** Calls `heard` with the name of each queue that has something new, and with "" after a lost connection. */
  onNotification(heard: (queue: string) => void): void {
    this.#listeners.add(heard)
  }

  /** Called by pg-boss at its start, with the channel that it notifies. */
  async listen(
    channel: string,
    onNotification: (payload: string) => void,
    onReconnect: () => void,
  ): Promise<ListenHandle> {
    const tell = (queue: string) => {
      for (const heard of this.#listeners) heard(queue)
    }
    const listener = new Listener(this.#url, channel, this.#log, {
      heard: (queue) => {
        onNotification(queue)
        tell(queue)
      },
      connected: () => {
        onReconnect()
        tell('')
      },
    })
    await listener.connect()
    return { close: () => listener.close() }
  }

  async close(): Promise<void> {
    await within(CLOSE_TIMEOUT_MS, Promise.all([this.#pool.end(), this.#quickPool.end()]))
  }
}

type Ears = { heard: (payload: string) => void; connected: () => void }

/** One connection that listens to a channel, and is opened again when it is lost. */
class Listener {
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
      .catch((error: unknown) => this.#log.debug({ err: error }, 'notifications: closing'))
    await within(CLOSE_TIMEOUT_MS, ended)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry) clearTimeout(this.#retry)
    if (this.#check) clearInterval(this.#check)
    if (this.#client) await this.#end(this.#client)
  }
}
