import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../generated/prisma/client.ts'
import { PipelinedConnections } from './pipelined-connections.ts'
import { type Sql, type Statement, sqlState } from './sql.ts'

/** A statement that takes longer is ended by the server; the request answers 503. */
const STATEMENT_TIMEOUT_MS = 30_000
/** Statements of the hot paths have others behind them, and are done in milliseconds. */
const SHORT_STATEMENT_TIMEOUT_MS = 10_000
/** A statement that waits for a row longer than this goes on waiting where it holds up nobody, on the pool. */
const SHORT_LOCK_TIMEOUT_MS = 100
const LOCK_TIMEOUT = '55P03'
const CONNECT_TIMEOUT_MS = 5_000

export type Database = {
  url: string
  pool: pg.Pool
  prisma: PrismaClient
  sql: Sql
  close(): Promise<void>
}

/**
 * One pool per process, which Prisma and the hand-written statements share, and beside it a few pipelined
 * connections for the short statements of the hot paths.
 */
export function openDatabase(
  url: string,
  options: { poolSize: number; pipelines: number; onError: (error: Error) => void },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // The client's own clock, for a server that no longer answers at all.
    query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    application_name: 'mailwright',
  })
  let closing = false
  // An idle connection that breaks must not end the process; the next query opens a new one. While we close,
  // the server may be the first to end one.
  const onError = (error: Error) => {
    if (!closing) options.onError(error)
  }
  pool.on('error', onError)
  const pipelines = new PipelinedConnections(url, {
    connections: options.pipelines,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: SHORT_STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: SHORT_LOCK_TIMEOUT_MS,
    onError,
  })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  const onPool = async <Row extends object>(query: Statement<Row>, values: unknown[]) => {
    const result = await pool.query<Row>({ name: query.name, text: query.text, values })
    return result.rows
  }
  return {
    url,
    pool,
    prisma,
    sql: async <Row extends object>(query: Statement<Row>, values: unknown[] = []) => {
      if (!query.short) return onPool(query, values)
      try {
        return await pipelines.query<Row>(query, values)
      } catch (error) {
        if (sqlState(error) !== LOCK_TIMEOUT) throw error
        return onPool(query, values)
      }
    },
    async close() {
      closing = true
      await pipelines.close()
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
