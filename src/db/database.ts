import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { PrismaClient } from '../generated/prisma/client.ts'
import { queueSchemaOf, schemaOf, withOptions } from './database-url.ts'
import { FairSlots } from './fair-slots.ts'
import { PipelinedConnections } from './pipelined-connections.ts'
import { Pool } from './pool.ts'
import { hasNotRun, type Sql, type Statement, sqlState, valuesOf } from './sql.ts'

const WORKER_STATEMENT_TIMEOUT_MS = 30_000
const HEALTH_TIMEOUT_MS = 2_000
/**
 * Milliseconds that a short statement waits for a row here; a longer wait goes on in the pool, where it holds
 * up no other.
 */
const SHORT_LOCK_TIMEOUT_MS = 100
const LOCK_TIMEOUT = '55P03'
const ANALYTIC_CONNECTIONS = 3
/** A long read that spreads over all processors ends sooner, but all others later. */
const ONE_PROCESSOR = '-c max_parallel_workers_per_gather=0'
const DELIVERY_CONNECTIONS = 3
const FRESH_MAIL_CONNECTIONS = 1
const DELIVERY_TIMEOUT_MS = 15_000
/** Mail of many projects is settled together: mail whose row is locked is settled later, the rest now. */
const SHORT_LOCKS = '-c lock_timeout=250'
const ANALYTIC_PER_PROJECT = 1
/** How much longer a statement waits than it may take: it gets the place of one that was ended. */
const ANALYTIC_EXTRA_WAIT_MS = 2_000

/** One class of connections, for hand-written statements and for Prisma. */
export type Connections = { pool: pg.Pool; prisma: PrismaClient; sql: Sql }

/**
 * The connections of requests, and those that no request can take: `worker` for background work and `health`
 * for the check whether the service is ready.
 */
export type Database = Connections & {
  url: string
  /** Where the queue has its tables; statements name it `pgboss`. */
  queueSchema: string
  worker: Connections
  /** For taking, reading and settling mail, which no other background work can delay. */
  delivery: Sql
  /** For taking and reading mail that was just sent, which does not wait for statements about a thousand others. */
  freshMail: Sql
  health: pg.Pool
  close(): Promise<void>
}

export type DatabaseOptions = {
  poolSize: number
  workerPoolSize: number
  pipelines: number
  /**
   * Milliseconds. A statement of a request that takes longer is ended by the server, and the request answers 503;
   * the same when it waits longer for a connection.
   */
  statementTimeoutMs: number
  onError: (error: Error) => void
}

/** Connections are opened at their first use: a process without background work has none for it. */
export function openDatabase(url: string, options: DatabaseOptions): Database {
  let closing = false
  // An idle connection that breaks must not end the process; the next query opens a new one. While the
  // service closes, the server may be the first to end one.
  const onError = (error: Error) => {
    if (!closing) options.onError(error)
  }
  const { statementTimeoutMs } = options
  const openPool = (size: number, timeoutMs: number, parameters?: string) =>
    poolOf(url, {
      size,
      statementTimeoutMs: timeoutMs,
      connectTimeoutMs: Math.min(statementTimeoutMs, timeoutMs),
      parameters,
      onError,
    })
  const pool = openPool(options.poolSize, statementTimeoutMs)
  const analyticPool = openPool(ANALYTIC_CONNECTIONS, statementTimeoutMs, ONE_PROCESSOR)
  const analyticSlots = new FairSlots(ANALYTIC_CONNECTIONS, {
    perProject: ANALYTIC_PER_PROJECT,
    waitMs: statementTimeoutMs + ANALYTIC_EXTRA_WAIT_MS,
  })
  const delivery = openPool(DELIVERY_CONNECTIONS, DELIVERY_TIMEOUT_MS, SHORT_LOCKS)
  const freshMail = openPool(FRESH_MAIL_CONNECTIONS, DELIVERY_TIMEOUT_MS, SHORT_LOCKS)
  const health = openPool(1, HEALTH_TIMEOUT_MS)
  const pipelines = new PipelinedConnections(url, {
    connections: options.pipelines,
    connectTimeoutMs: statementTimeoutMs,
    statementTimeoutMs,
    lockTimeoutMs: SHORT_LOCK_TIMEOUT_MS,
    onError,
  })
  const prisma = prismaOn(pool, schemaOf(url))
  const worker = workerConnections(
    openPool(options.workerPoolSize, WORKER_STATEMENT_TIMEOUT_MS),
    schemaOf(url),
  )
  return {
    url,
    queueSchema: queueSchemaOf(url),
    pool,
    prisma,
    sql: requestSql(pool, pipelines, (projectId, query, values) =>
      analyticSlots.run(projectId, () => runOn(analyticPool, query, values)),
    ),
    worker,
    delivery: (query, params) => runOn(delivery, query, valuesOf(query, params)),
    freshMail: (query, params) => runOn(freshMail, query, valuesOf(query, params)),
    health,
    async close() {
      closing = true
      await pipelines.close()
      await prisma.$disconnect()
      const others = [pool, analyticPool, delivery, freshMail, health]
      await Promise.all([worker.close(), ...others.map((one) => one.end())])
    },
  }
}

type PoolOptions = {
  size: number
  statementTimeoutMs: number
  /** Until a connection is open, or one of the pool is free. */
  connectTimeoutMs: number
  /** For all statements of its connections, as in `options` of libpq. */
  parameters: string | undefined
  onError: (error: Error) => void
}

function poolOf(
  url: string,
  { size, statementTimeoutMs, connectTimeoutMs, parameters, onError }: PoolOptions,
): Pool {
  const pool = new Pool({
    queueSchema: queueSchemaOf(url),
    connectionString: parameters === undefined ? url : withOptions(url, parameters),
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    // The client's own clock, for a server that no longer answers at all.
    query_timeout: statementTimeoutMs * 2,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    application_name: 'mailwright',
  })
  pool.on('error', onError)
  return pool
}

const prismaOn = (pool: Pool, schema: string) =>
  new PrismaClient({ adapter: new PrismaPg(pool, { schema }), errorFormat: 'minimal' })

/** Its Prisma client takes 12 MB, so it is created at its first use. */
function workerConnections(pool: Pool, schema: string): Connections & { close: () => Promise<void> } {
  let prisma: PrismaClient | null = null
  return {
    pool,
    get prisma() {
      prisma ??= prismaOn(pool, schema)
      return prisma
    },
    sql: (query, params) => runOn(pool, query, valuesOf(query, params)),
    close: async () => {
      await prisma?.$disconnect()
      await pool.end()
    },
  }
}

type RunAnalytic = <Row extends object>(
  projectId: string,
  query: Statement<never, Row>,
  values: unknown[],
) => Promise<Row[]>

function requestSql(pool: Pool, pipelines: PipelinedConnections, runAnalytic: RunAnalytic): Sql {
  return async <Row extends object>(query: Statement<never, Row>, params: Record<string, unknown>) => {
    const values = valuesOf(query, params)
    if (query.kind === 'analytic') return runAnalytic(String(params.projectId), query, values)
    if (query.kind === 'usual') return runOn(pool, query, values)
    try {
      return await pipelines.query<Row>(query, values)
    } catch (error) {
      if (sqlState(error) === LOCK_TIMEOUT) return runOn(pool, query, values)
      if (hasNotRun(error)) return runUnprepared(pool, query, values)
      throw error
    }
  }
}

async function runOn<Row extends object>(
  pool: Pool,
  query: Statement<never, Row>,
  values: unknown[],
): Promise<Row[]> {
  try {
    const { name } = query
    return (await pool.query<Row>({ name, text: pool.textOf(query), values })).rows
  } catch (error) {
    if (hasNotRun(error)) return runUnprepared(pool, query, values)
    throw error
  }
}

/** Depends on nothing that a connection remembers. */
async function runUnprepared<Row extends object>(
  pool: Pool,
  query: Statement<never, Row>,
  values: unknown[],
) {
  return (await pool.query<Row>(pool.textOf(query), values)).rows
}
