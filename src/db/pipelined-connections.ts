import pg from 'pg'

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
    try {
      connection.client ??= this.#open(connection)
      const client = await connection.client
      const result = await client.query<Row>({ name: query.name, text: query.text, values })
      return result.rows
    } finally {
      connection.waiting -= 1
    }
  }

  #leastBusy(): Connection {
    return this.#connections.reduce((best, next) => (next.waiting < best.waiting ? next : best))
  }

  /** A connection that cannot be made, or that is lost, is made anew for the next statement. */
  #open(connection: Connection): Promise<pg.Client> {
    const opening: Promise<pg.Client> = this.#connect(() => {
      // A late word of an old connection must not end a newer one.
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
      // One that could not be made has told its caller so.
      const open = await client?.catch(() => null)
      await open?.end()
    }
  }
}
