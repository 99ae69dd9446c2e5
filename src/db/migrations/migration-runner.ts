import { PrismaPg } from '@prisma/adapter-pg'
import { DriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'
import { type Migration, MigrationError, withoutTrace } from './migration-history.ts'
import { noFilters, openSchemaEngine } from './schema-engine.ts'

export type Limits = {
  /** How long a statement waits for a table's lock, in ms: all traffic of the table queues up behind it. */
  lockTimeoutMs: number
  /** How long one statement may run, in ms. */
  statementTimeoutMs: number
}

type Run = { migrations: Migration[]; pending: Migration[]; retry: string[]; limits: Limits }

/** Applies the pending migrations one after the other and stops at the first that fails (`MigrationError`). */
export async function runMigrations(databaseUrl: string, run: Run): Promise<void> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    // One connection that stays, since the engine keeps its advisory lock in the session.
    max: 1,
    idleTimeoutMillis: 0,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    lock_timeout: run.limits.lockTimeoutMs,
    statement_timeout: run.limits.statementTimeoutMs,
  })
  pool.on('error', () => {})
  try {
    const failure: Failure = { error: undefined }
    const engine = await openSchemaEngine(wholeScripts(pool, failure))
    try {
      for (const migrationName of run.retry) await engine.markMigrationRolledBack({ migrationName })
      const pending = new Set(run.pending)
      const present = run.migrations.filter((migration) => !pending.has(migration))
      for (const migration of run.pending) {
        present.push(migration)
        await applyLast(engine, present, migration, failure)
      }
    } finally {
      engine.free()
    }
  } finally {
    await close(pool)
  }
}

/** `end` alone does not wait until the server has let go of the session and its lock. */
async function close(pool: pg.Pool): Promise<void> {
  const closed = pool.totalCount > 0 && new Promise((resolve) => pool.once('remove', resolve))
  await pool.end()
  await closed
}

/** One at a time, so that an error can be told with the migration's name. */
async function applyLast(
  engine: SchemaEngine,
  present: Migration[],
  migration: Migration,
  failure: Failure,
): Promise<void> {
  try {
    await engine.applyMigrations({ migrationsList: listOf(present), filters: noFilters })
  } catch (error) {
    throw failedMigration(migration, failure.error ?? error)
  }
}

function failedMigration({ name, sql }: Migration, cause: unknown): MigrationError {
  const message = cause instanceof Error ? withoutTrace(cause.message) : String(cause)
  const position = cause instanceof pg.DatabaseError ? cause.position : undefined
  const line = position ? ` at line ${sql.slice(0, Number(position)).split('\n').length}` : ''
  return new MigrationError(
    `The migration ${name} failed${line}: ${message}. Its statements are one transaction and were rolled back ` +
      '(what runs CONCURRENTLY is not); the migrations before it are applied.',
    { migration: name, cause },
  )
}

function listOf(migrations: Migration[]): MigrationList {
  return {
    baseDir: '',
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
    })),
  }
}

type Failure = { error: unknown }

/**
 * Prisma's adapter cuts scripts at every semicolon, also inside function bodies, texts and comments, and runs the
 * pieces one by one. Here a script is one simple query, as in the native engine, which makes it one transaction.
 * The database's own error is kept in `failure`.
 */
function wholeScripts(pool: pg.Pool, failure: Failure): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg(pool)
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const adapter = await factory.connect()
      adapter.executeScript = async (script) => {
        try {
          await pool.query(script)
        } catch (error) {
          failure.error = error
          throw error instanceof pg.DatabaseError ? adapterError(error) : error
        }
      }
      return adapter
    },
  }
}

function adapterError({ code = '', severity = '', message, ...error }: pg.DatabaseError): DriverAdapterError {
  return new DriverAdapterError({
    kind: 'postgres',
    code,
    severity,
    message,
    detail: error.detail,
    column: error.column,
    hint: error.hint,
    originalCode: code,
    originalMessage: message,
  })
}
