import pg from 'pg'
import { leavesIntact } from './pool.ts'

type Connection = { client: Promise<pg.Client> | null; waiting: number }

export type PipelineOptions = {
  connections: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  /** A statement that waits longer for a row fails with 55P03, having done nothing. */
  lockTimeoutMs: number
  onError: (error: Error) => void
}

/**
 * A few connections on which short statements are sent without waiting for the answers of the ones before
 * (pipelining). Each is its own transaction, as on a pool. It spares the database and this process a switch
 * back and forth per statement: about a third of the processor time of a hot path. Only statements that never
 * wait long may come here, because the ones behind a slow one wait with it.
 *
 * The first use of a statement prepares it, and those sent behind rely on that: when it fails, they fail with
 * 26000, having done nothing.
 */
export class PipelinedConnections {
  readonly #url: string
  readonly #options: PipelineOptions
  readonly #connections: Connection[]
  #closed = false

  constructor(url: string, options: PipelineOptions) {
    this.#url = url
    this.#options = options
    this.#connections = Array.from({ length: options.connections }, () => ({ client: null, waiting: 0 }))
  }

  async query<Row extends object>(query: { name: string; text: string }, values: unknown[]): Promise<Row[]> {
    const connection = this.#leastBusy()
    connection.waiting += 1
    connection.client ??= this.#open(connection)
    const opening = connection.client
    try {
      const client = await opening
      const result = await client.query<Row>({ name: query.name, text: query.text, values })
      return result.rows
    } catch (error) {
      if (!leavesIntact(error)) replace(connection, opening)
      throw error
    } finally {
      connection.waiting -= 1
    }
  }

  #leastBusy(): Connection {
    return this.#connections.reduce((best, next) => (next.waiting < best.waiting ? next : best))
  }

  /** A connection that cannot be opened, or is lost, is opened again for the next statement. */
  #open(connection: Connection): Promise<pg.Client> {
    const opening: Promise<pg.Client> = this.#connect(() => {
      // A late event of an old connection must not end a newer one.
      if (connection.client === opening) connection.client = null
    })
    return opening
  }

  async #connect(forget: () => void): Promise<pg.Client> {
    if (this.#closed) throw new Error('Connection terminated: the service is stopping')
    const { connectTimeoutMs, statementTimeoutMs, lockTimeoutMs, onError } = this.#options
    const client = new pg.Client({
      connectionString: this.#url,
      pipeline: true,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      query_timeout: statementTimeoutMs + 5_000,
      keepAlive: true,
      application_name: 'mailwright',
    })
    client.on('error', (error) => {
      forget()
      onError(error)
    })
    client.on('end', forget)
    try {
      await client.connect()
      return client
    } catch (error) {
      forget()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { client } of this.#connections) {
      // A connection that could not be opened has told its caller so.
      const open = await client?.catch(() => null)
      await open?.end()
    }
  }
}

/** The next statement gets a new connection; the old one ends when all that were sent on it have been answered. */
function replace(connection: Connection, opened: Promise<pg.Client>): void {
  if (connection.client !== opened) return
  connection.client = null
  opened.then((client) => client.end()).catch(() => {})
}
