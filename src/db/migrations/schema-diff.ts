import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ColumnTypeEnum,
  mockAdapter,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { DiffTarget } from '@prisma/schema-engine-wasm/schema_engine_bg'
import { SCHEMA_FOLDER } from '../project-files.ts'
import { noFilters, openSchemaEngine } from './schema-engine.ts'

/** One file of a Prisma schema; the path only shows in error messages. */
export type SchemaFile = { path: string; content: string }

/** The files of the Prisma schema, in the order of their names. */
export async function readSchema(folder = SCHEMA_FOLDER): Promise<SchemaFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.prisma')).sort()
  return Promise.all(
    names.map(async (name) => ({ path: name, content: await readFile(join(folder, name), 'utf8') })),
  )
}

/**
 * The SQL that takes a database from one Prisma schema to another (`null`: from an empty database), without
 * asking a database. Empty when there is no difference. Throws the engine's error when a schema is not valid.
 */
export async function schemaDiff(
  from: SchemaFile[] | string | null,
  to: SchemaFile[] | string,
): Promise<string> {
  const engine = await openSchemaEngine(noDatabase)
  try {
    const { exitCode, stdout } = await engine.diff({
      from: from === null ? { tag: 'empty' } : datamodel(from),
      to: datamodel(to),
      script: true,
      exitCode: true,
      filters: noFilters,
    })
    return exitCode === DIFFERENT ? withoutCreateSchema(stdout ?? '') : ''
  } finally {
    engine.free()
  }
}

const DIFFERENT = 2

function datamodel(schema: SchemaFile[] | string): DiffTarget {
  const files = typeof schema === 'string' ? [{ path: 'datamodel.prisma', content: schema }] : schema
  return { tag: 'schemaDatamodel', files }
}

/** Every database has `public`, and asking for it takes the right to create schemas even then. */
const withoutCreateSchema = (sql: string): string =>
  sql.replace(/^-- CreateSchema\nCREATE SCHEMA IF NOT EXISTS "public";\n+/, '')

/** All that the engine asks at its start is the version and whether `public` exists. */
const fixedAnswer: SqlDriverAdapter = {
  ...mockAdapter('postgres'),
  queryRaw: async () => ({
    columnNames: ['exists', 'version', 'numeric_version'],
    columnTypes: [ColumnTypeEnum.Boolean, ColumnTypeEnum.Text, ColumnTypeEnum.Int32],
    rows: [[true, 'PostgreSQL 15.0', 150000]],
  }),
}

const noDatabase: SqlMigrationAwareDriverAdapterFactory = {
  provider: 'postgres',
  adapterName: fixedAnswer.adapterName,
  connect: async () => fixedAnswer,
  connectToShadowDb: async () => fixedAnswer,
}
