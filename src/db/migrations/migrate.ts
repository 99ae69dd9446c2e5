import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { DEFAULT_SCHEMA, schemaOf } from '../database-url.ts'
import { MIGRATIONS_FOLDER } from '../project-files.ts'
import {
  assertNobodyElses,
  HISTORY_TABLE,
  type Migration,
  MigrationError,
  migrationNames,
  pendingOf,
  readHistory,
  readMigrations,
} from './migration-history.ts'

export { MigrationError } from './migration-history.ts'

export type MigrateOptions = {
  /** Folder with one folder per migration; by default prisma/migrations of this project. */
  folder?: string
  /** How long to wait for another process that is migrating the same database, in ms. */
  waitMs?: number
  /** How long a statement waits for a table's lock, in ms: all traffic of the table queues up behind it. */
  lockTimeoutMs?: number
  /** How long one statement may run, in ms. */
  statementTimeoutMs?: number
}

// Any number, as long as it is ours.
const ADVISORY_LOCK = 1836544617
const LOCK_POLL_MS = 100
const CONNECT_TIMEOUT_MS = 10_000

/**
 * Migrates the database to this version; several processes may do so at once. Needs a connection of its own
 * to Postgres (no pooler that shares sessions). Throws `MigrationError`.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const { folder = MIGRATIONS_FOLDER, waitMs = 600_000 } = options
  const migrations = await readMigrations(folder)
  return withConnection(databaseUrl, options, async (client) => {
    if (pendingOf(migrations, await readHistory(client)).length === 0) return { applied: [] }
    await waitForLock(client, waitMs)
    const history = await readHistory(client)
    await prepareSchema(client, schemaOf(databaseUrl))
    if (history.length === 0) await assertNobodyElses(client)
    const pending = pendingOf(migrations, history)
    await client.query(HISTORY_TABLE)
    await client.query(FIND_EXTENSIONS)
    for (const migration of pending) await apply(client, migration)
    return { applied: pending.map(({ name }) => name) }
  })
}

/**
 * Names of this version's migrations that the database does not have yet. A database of a newer version has
 * none, so that processes of the old one stay ready while the new one is rolled out.
 */
export async function pendingMigrations(database: pg.Pool, folder = MIGRATIONS_FOLDER): Promise<string[]> {
  const [names, history] = await Promise.all([migrationNames(folder), readHistory(database)])
  const applied = new Set(history.map(({ name }) => name))
  return names.filter((name) => !applied.has(name))
}

/** Ending the connection also releases the lock it holds. */
async function withConnection<T>(
  databaseUrl: string,
  { lockTimeoutMs = 10_000, statementTimeoutMs = 1_800_000 }: MigrateOptions,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // The client's own clock, for a server that no longer answers at all.
    query_timeout: statementTimeoutMs + CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  // A connection that breaks while it only holds the lock must not end the process: its next query fails.
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end()
  }
}

/**
 * Polls, because a session that waits inside `pg_advisory_lock` holds a snapshot, and CREATE INDEX CONCURRENTLY
 * of the process that has the lock would wait for that.
 */
async function waitForLock(client: pg.Client, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      ADVISORY_LOCK,
    ])
    if (rows[0]?.locked) return
    if (performance.now() >= deadline) {
      throw new MigrationError(
        `Another process has been migrating this database for more than ${waitMs} ms. Look for it in ` +
          `pg_stat_activity and pg_locks (advisory lock ${ADVISORY_LOCK}), then start again.`,
      )
    }
    await setTimeout(LOCK_POLL_MS)
  }
}

/**
 * Objects that migrations create would be deleted with this schema, so shared ones go to the default schema.
 */
async function prepareSchema(client: pg.Client, schema: string): Promise<void> {
  if (schema === DEFAULT_SCHEMA) return
  await client.query(`create schema if not exists ${client.escapeIdentifier(schema)}`)
  for (const extension of EXTENSIONS) {
    await client.query(`create extension if not exists ${extension} with schema ${DEFAULT_SCHEMA}`)
  }
}

/** Extensions that migrations use. */
const EXTENSIONS = ['btree_gin', 'pg_trgm']

/** Migrations name operator classes of extensions, wherever those are. */
const FIND_EXTENSIONS = `
  select set_config('search_path',
    concat_ws(', ', current_setting('search_path'), string_agg(distinct quote_ident(nspname), ', ')), false)
  from pg_extension join pg_namespace n on n.oid = extnamespace where nspname <> 'pg_catalog'`

/** Runs in one transaction with its row of the history, except statements with CONCURRENTLY, which cannot. */
async function apply(client: pg.Client, { name, sql, checksum, expands }: Migration): Promise<void> {
  const isTransaction = !/^[^-\n]*\bconcurrently\b/im.test(sql)
  try {
    if (isTransaction) await client.query('begin')
    await client.query(sql)
    await client.query(
      `insert into _prisma_migrations (id, migration_name, checksum, expands, applied_steps_count, finished_at)
       values ($1, $2, $3, $4, 1, now())`,
      [randomUUID(), name, checksum, expands],
    )
    if (isTransaction) await client.query('commit')
  } catch (error) {
    throw failedMigration(name, sql, error)
  }
}

function failedMigration(name: string, sql: string, cause: unknown): MigrationError {
  const message = cause instanceof Error ? cause.message : String(cause)
  const position = cause instanceof pg.DatabaseError ? cause.position : undefined
  const line = position ? ` at line ${sql.slice(0, Number(position)).split('\n').length}` : ''
  return new MigrationError(
    `The migration ${name} failed${line}: ${message}. It is a transaction, so nothing of it is there (but what runs ` +
      'CONCURRENTLY); those before it are applied. Correct the cause and start again.',
    { migration: name, cause },
  )
}
