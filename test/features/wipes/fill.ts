import { KEPT, WIPED } from '../../../src/features/wipes/wiped-tables.sql.ts'
import type { Service } from '../../support/service.ts'

type Column = { name: string; type: string; kind: string; label: string | null }

/** One id for all: whatever refers to something refers to what is there. */
const ID = '01990000-0000-7000-8000-000000000001'

/** A value for a column that must have one, by its type; the texts are those of the project. */
function valueFor({ name, type, label }: Column, projectId: string): string {
  if (name === 'project_id') return `'${projectId}'`
  if (label !== null) return `'${label}'`
  if (type.endsWith('[]')) return `'{}'`
  switch (type) {
    case 'uuid':
      return `'${ID}'`
    case 'jsonb':
      return `'{}'`
    case 'boolean':
      return 'false'
    case 'bytea':
      return `'\\x${projectId.replaceAll('-', '')}'`
    case 'date':
    case 'timestamp with time zone':
    case 'timestamp(3) with time zone':
      return `'2026-01-01T00:00:00Z'`
    case 'text':
      return `'${projectId}@example.org'`
    default:
      return '1'
  }
}

/** Puts a row into each table of projects, but for those of which the service has made one; users come first. */
export async function fillProject({ sql }: Pick<Service, 'sql'>, projectId: string): Promise<void> {
  await sql(
    `insert into users (id, email, created_at, updated_at) values ($1, 'filler@example.org', now(), now())
     on conflict do nothing`,
    [ID],
  )
  for (const { table } of [...WIPED, ...KEPT].toReversed()) {
    const columns = await sql<Column>(
      `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
         (select min(enumlabel) from pg_enum e where e.enumtypid = a.atttypid) as label
       from pg_attribute a where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
         and (a.attnotnull or a.attname = 'project_id') and not a.atthasdef`,
      [table],
    )
    const names = columns.map(({ name }) => `"${name}"`).join(', ')
    const values = columns.map((column) => valueFor(column, projectId)).join(', ')
    await sql(`insert into ${table} (${names}) values (${values}) on conflict do nothing`)
  }
}

/** How many rows a project has in each of the tables, which have some. */
export async function rowsOf(
  { sql }: Pick<Service, 'sql'>,
  projectId: string,
  tables: readonly { table: string }[],
): Promise<Record<string, number>> {
  const counts: [string, number][] = []
  for (const { table } of tables) {
    const [row] = await sql<{ count: number }>(
      `select count(*)::int as count from ${table} where project_id = $1`,
      [projectId],
    )
    if (row && row.count > 0) counts.push([table, row.count])
  }
  return Object.fromEntries(counts)
}
