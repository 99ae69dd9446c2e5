import pg from 'pg'
import { DEFAULT_QUEUE_SCHEMA } from './database-url.ts'

type Callback = Parameters<pg.Pool['connect']>[0]

/**
 * A pool that keeps a connection after an ordinary error of a statement. The one of the driver closes it after
 * any error, so that a tenant whose requests break a unique constraint has every one of them wait for a new one.
 */
export class Pool extends pg.Pool {
  readonly #queueSchema: string

  constructor({ queueSchema = DEFAULT_QUEUE_SCHEMA, ...config }: pg.PoolConfig & { queueSchema?: string }) {
    super(config)
    this.#queueSchema = queueSchema
  }

  /** The text of a statement, which may read the queue's tables as `pgboss.job`, for the schema where they are. */
  textOf({ text }: { text: string }): string {
    return this.#queueSchema === DEFAULT_QUEUE_SCHEMA
      ? text
      : text.replaceAll(/\bpgboss\./g, `${this.#queueSchema}.`)
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    if (!callback) return super.connect().then(keptWhenIntact)
    super.connect((error, client, done) => {
      if (client) keptWhenIntact(client)
      callback(error, client, done)
    })
    return
  }
}

function keptWhenIntact(client: pg.PoolClient): pg.PoolClient {
  const release = client.release.bind(client)
  client.release = (error) => release(error instanceof Error && leavesIntact(error) ? undefined : error)
  return client
}

/** Codes besides those of lost connections and of the server's own trouble (classes 08, 57P, XX). */
const TELLS_OF_CONNECTION = new Set([
  '0A000', // a prepared statement whose result has another shape since a migration
  '25006', // read only: the server may have become a standby
  '26000', // a prepared statement that the server does not know
])

/** Whether a connection is as good as before after a statement on it has failed like this. */
export function leavesIntact(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  const { code = '', severity } = error
  if (severity === 'FATAL' || severity === 'PANIC') return false
  return !TELLS_OF_CONNECTION.has(code) && !/^(08|57P|XX)/.test(code)
}
