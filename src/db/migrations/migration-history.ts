import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { OperatorError } from '../../lib/operator-error.ts'

export type Migration = {
  name: string
  sql: string
  /** SHA-256 of the SQL in hex. */
  checksum: string
  /** Its first line is `-- expand`: versions of the service that do not know it work on the database as before. */
  expands: boolean
}

/** An applied migration. */
export type RecordedMigration = Pick<Migration, 'name' | 'checksum' | 'expands'>

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
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { name, sql, checksum, expands: /^-- expand\b/.test(sql) }
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
      'create one, and name it in DATABASE_URL, or add ?schema=mailwright there for a schema of its own.',
  )
}

/** The table as Prisma creates and reads it, so that its tools can be used, and a column of ours. */
export const HISTORY_TABLE = `
  create table if not exists _prisma_migrations (
    id varchar(36) primary key,
    checksum varchar(64) not null,
    finished_at timestamptz,
    migration_name varchar(255) not null,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz not null default now(),
    applied_steps_count integer not null default 0
  );
  alter table _prisma_migrations add column if not exists expands boolean not null default false;`

const UNDEFINED_TABLE = '42P01'

/** The applied migrations. Rows of failed ones are left out: nothing of them exists in the database. */
export async function readHistory(database: pg.Pool | pg.Client): Promise<RecordedMigration[]> {
  try {
    const { rows } = await database.query<RecordedMigration>(
      `select migration_name as name, checksum, coalesce(to_jsonb(m) -> 'expands' = 'true', false) as expands
         from _prisma_migrations m
        where finished_at is not null and rolled_back_at is null
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
 * database is too new for this code, or when a migration was changed after it was applied.
 */
export function pendingOf(migrations: Migration[], history: RecordedMigration[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const isOurs = history.some(({ name }) => known.has(name))
  for (const { name, checksum, expands } of history) {
    const migration = known.get(name)
    if (!isOurs) {
      throw new MigrationError(
        `The database has migrations of another program, such as ${name}. Give Mailwright a database of its own.`,
        { migration: name },
      )
    }
    if (!migration && !expands) {
      throw new MigrationError(
        `A newer version has brought the migration ${name} to the database, which this version cannot work with: ` +
          'start the newer version, or restore a backup from before.',
        { migration: name },
      )
    }
    if (migration && migration.checksum !== checksum) {
      throw new MigrationError(
        `The migration ${name} was changed after it was applied to this database. ` +
          'Restore its migration.sql and put the change into a new migration.',
        { migration: name },
      )
    }
  }
  const applied = new Set(history.map(({ name }) => name))
  return migrations.filter(({ name }) => !applied.has(name))
}
