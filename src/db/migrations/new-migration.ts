import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MIGRATIONS_FOLDER, SCHEMA_FOLDER } from '../project-files.ts'
import { readSchema, type SchemaFile, schemaDiff } from './schema-diff.ts'

type Folders = { schema: string; migrations: string }

const LOCK_FILE = '# Written by new-migration. Keep it in version control.\nprovider = "postgresql"\n'

/**
 * Writes the migration from the datamodel of the last one to the current schema and returns the path of its SQL.
 * `now` gives its time stamp. Throws when the name is not usable or when there is nothing to migrate.
 */
export async function writeMigration(
  name: string,
  now: Date,
  folders: Folders = { schema: SCHEMA_FOLDER, migrations: MIGRATIONS_FOLDER },
): Promise<string> {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error('A migration has a name like add_contact_language.')
  const schema = await readSchema(folders.schema)
  const sql = await schemaDiff(await readDatamodel(folders.migrations), schema)
  if (sql === '') {
    throw new Error(
      'The schema asks for nothing that the last migration does not have. What the schema cannot say is ' +
        'written by hand: make a folder for it in prisma/migrations.',
    )
  }
  const stamp = now.toISOString().replace(/\D/g, '').slice(0, 14)
  const folder = join(folders.migrations, `${stamp}_${name}`)
  await mkdir(folder)
  const file = join(folder, 'migration.sql')
  await writeFile(file, sql)
  await writeFile(join(folders.migrations, 'datamodel.prisma'), joinSchema(schema))
  await writeFile(join(folders.migrations, 'migration_lock.toml'), LOCK_FILE)
  return file
}

/** The schema as it was at the last migration, since no database is at hand to ask; null before the first. */
export async function readDatamodel(migrations = MIGRATIONS_FOLDER): Promise<string | null> {
  try {
    return await readFile(join(migrations, 'datamodel.prisma'), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

const joinSchema = (files: SchemaFile[]): string =>
  files.map(({ path, content }) => `// ${path}\n\n${content.trim()}\n`).join('\n')
