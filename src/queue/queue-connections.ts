import type { Db } from 'pg-boss'
import type { Logger } from 'pino'
import { withOptions } from '../db/database-url.ts'
import { Pool } from '../db/pool.ts'
import { within } from '../lib/async/within.ts'
import { JobListener } from './job-listener.ts'

type ListenHandle = Awaited<ReturnType<NonNullable<Db['listen']>>>

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 15_000
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
    const listener = new JobListener(this.#url, channel, this.#log, {
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
