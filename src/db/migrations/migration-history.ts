import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { OperatorError } from '../../lib/operator-error.ts'

/** A migration of the folder; `checksum` is the SHA-256 of its SQL in hex, as Prisma records it. */
export type Migration = { name: string; sql: string; checksum: string }

/** A row of `_prisma_migrations` that counts; without `finishedAt` the migration failed or was interrupted. */
export type RecordedMigration = {
  name: string
  checksum: string
  startedAt: Date
  finishedAt: Date | null
  logs: string | null
}

/** Why the database could not be migrated, for the operator; `migration` is the name it is about, if any. */
export class MigrationError extends OperatorError {
  override name = 'MigrationError'
  readonly migration: string | undefined

  constructor(message: string, options: { migration?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.migration = options.migration
  }
}

/** Names of the migrations in the folder, in the order in which they are applied. */
export async function migrationNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/** The migrations in the folder, in the order in which they are applied. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = await migrationNames(folder)
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/**
 * Throws `MigrationError` when a database without a history has tables all the same: they belong to something else, whose
 * names could be ours. Those of extensions do not count.
 */
export async function assertNobodyElses(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ name: string; database: string }>(
    `select c.relname as name, current_database() as database from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and c.relname <> '_prisma_migrations'
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      order by c.relname limit 4`,
  )
  const [first] = rows
  if (!first) return
  const names = rows.map(({ name }) => name).join(', ')
  throw new MigrationError(
    `The database ${first.database} has tables of something else (${names}). Give Mailwright a database of its own: ` +
      'create one, and name it in DATABASE_URL.',
  )
}

const UNDEFINED_TABLE = '42P01'

/** What the database has recorded, without the attempts that were marked as rolled back. */
export async function readHistory(database: pg.Pool | pg.Client): Promise<RecordedMigration[]> {
  try {
    const { rows } = await database.query<RecordedMigration>(
      `select migration_name as name, checksum, started_at as "startedAt", finished_at as "finishedAt", logs
         from _prisma_migrations
        where rolled_back_at is null
        order by started_at`,
    )
    return rows
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return []
    throw error
  }
}

/**
 * The migrations that are still to be applied, given a history that fits them. Throws `MigrationError` when the
 * database is newer than this code, or when a migration was changed after it was applied.
 */
export function pendingOf(migrations: Migration[], history: RecordedMigration[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const applied = new Set<string>()
  for (const { name, checksum, finishedAt } of history) {
    const migration = known.get(name)
    if (!migration && !history.some((one) => known.has(one.name))) {
      throw new MigrationError(
        `The database has migrations of another program, such as ${name}. Give Mailwright a database of its own.`,
        { migration: name },
      )
    }
    if (!migration) {
      throw new MigrationError(
        `The database has the migration ${name}, which this version of the code does not know: ` +
          'a newer version has migrated it. Start that version or a later one.',
        { migration: name },
      )
    }
    if (finishedAt === null) continue
    if (migration.checksum !== checksum) {
      throw new MigrationError(
        `The migration ${name} was changed after it was applied to this database. ` +
          'Restore its migration.sql and put the change into a new migration.',
        { migration: name },
      )
    }
    applied.add(name)
  }
  return migrations.filter(({ name }) => !applied.has(name))
}

/** The engine's messages without the trace of its own functions (lines such as `   0: sql_schema_connector::…`). */
export function withoutTrace(message: string): string {
  return message
    .replace(/\n\s+0: [\s\S]*$/, '')
    .replace(/^external connector error\n/, '')
    .replace(/^Error querying the database: (ERROR: )?/, '')
    .trim()
}
