import type { Service } from './service.ts'

/** Every row of every table of the database as text, queues included; binary columns as text too. */
export async function dump({ sql }: Service): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
     order by 1`,
  )
  const rows = []
  for (const { name } of tables) {
    const found = await sql<{ row: string }>(`select '${name} ' || t::text as row from ${name} t`)
    rows.push(...found.map(({ row }) => row.replaceAll(/\\+x([0-9a-f]{2,})/g, fromHex)))
  }
  return rows
}

const fromHex = (_match: string, hex: string) => Buffer.from(hex, 'hex').toString('latin1')

/** The rows that have one of the texts in them, in any case. */
export const rowsWith = (rows: readonly string[], texts: readonly string[]): string[] =>
  rows.filter((row) => texts.some((text) => row.toLowerCase().includes(text.toLowerCase())))

/** The names of the tables that rows are of. */
export const tablesOf = (rows: readonly string[]): string[] =>
  [...new Set(rows.map((row) => row.split(' ', 1)[0] ?? ''))].toSorted()
