import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { MIGRATIONS_FOLDER } from '../project-files.ts'
import {
  assertNobodyElses,
  MigrationError,
  migrationNames,
  pendingOf,
  type RecordedMigration,
  readHistory,
  readMigrations,
  withoutTrace,
} from './migration-history.ts'
import type { Limits } from './migration-runner.ts'

export { MigrationError } from './migration-history.ts'

export type MigrateOptions = Partial<Limits> & {
  /** Folder with one folder per migration; by default prisma/migrations of this project. */
  folder?: string
  /** How long to wait for another process that is migrating the same database, in ms. */
  waitMs?: number
  /** Apply migrations again that failed before, once their cause is corrected. */
  retryFailed?: boolean
}

// Any number, as long as it is ours: Prisma's own lock is 72707369, which its engine takes on its connection.
const ADVISORY_LOCK = 1836544617
const LOCK_POLL_MS = 100
const CONNECT_TIMEOUT_MS = 10_000
const QUERY_TIMEOUT_MS = 30_000

/**
 * Brings the database up to the migrations of this version; several processes may do so at once. Needs a
 * connection of its own to Postgres (no pooler that shares sessions). Throws `MigrationError`.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.folder ?? MIGRATIONS_FOLDER)
  return withConnection(databaseUrl, async (client) => {
    if (pendingOf(migrations, await readHistory(client)).length === 0) return { applied: [] }

    await waitForLock(client, options.waitMs ?? 600_000)
    const history = await readHistory(client)
    const pending = pendingOf(migrations, history)
    if (pending.length === 0) return { applied: [] }
    const failed = history.filter(({ finishedAt }) => finishedAt === null)
    if (!options.retryFailed) assertNoneFailed(failed)
    if (history.length === 0) await assertNobodyElses(client)

    const { runMigrations } = await import('./migration-runner.ts')
    await runMigrations(databaseUrl, {
      migrations,
      pending,
      retry: failed.map(({ name }) => name),
      limits: {
        lockTimeoutMs: options.lockTimeoutMs ?? 10_000,
        statementTimeoutMs: options.statementTimeoutMs ?? 1_800_000,
      },
    })
    return { applied: pending.map(({ name }) => name) }
  })
}

/**
 * Names of this version's migrations that the database does not have yet. A database of a newer version has
 * none, so that processes of the old one stay ready while the new one is rolled out.
 */
export async function pendingMigrations(
  database: pg.Pool | string,
  folder = MIGRATIONS_FOLDER,
): Promise<string[]> {
  if (typeof database === 'string') {
    return withConnection(database, (client) => findPending(client, folder))
  }
  return findPending(database, folder)
}

async function findPending(database: pg.Pool | pg.Client, folder: string): Promise<string[]> {
  const [names, history] = await Promise.all([migrationNames(folder), readHistory(database)])
  const applied = new Set(history.filter(({ finishedAt }) => finishedAt !== null).map(({ name }) => name))
  return names.filter((name) => !applied.has(name))
}

/** Ending the connection also releases the lock it holds. */
async function withConnection<T>(databaseUrl: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
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

function assertNoneFailed(failed: RecordedMigration[]): void {
  const [first] = failed
  if (!first) return
  const reason = first.logs ? `failed: ${withoutTrace(first.logs)}` : 'was interrupted'
  throw new MigrationError(
    `The migration ${first.name}, started at ${first.startedAt.toISOString()}, ${reason}. ` +
      'Nothing is migrated until that is settled: correct the cause, then migrate again and retry failed ' +
      'migrations (npm run -s cli -- migrate --retry-failed).',
    { migration: first.name },
  )
}
