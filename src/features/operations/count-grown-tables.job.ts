import type { Ctx } from '../../ctx.ts'
import type { Sweep } from '../../queue/sweeper.ts'
import { analyzeTable, grownTables } from './count-grown-tables.sql.ts'

const LEAST_ROWS = 1_000
const MOST_ROWS = 1_000_000
/** Counting takes a tenth of a second or two; a plan for a quarter of the rows is still a good one. */
const GROWTH = 4

/**
 * Has Postgres count tables anew that have grown to four times their rows, so that statements are planned for what is there: autovacuum looks once a
 * minute, and until then a statement that was planned when a table was empty would read all of it each time.
 */
export async function countGrownTables(ctx: Ctx): Promise<void> {
  const grown = await ctx.sql(grownTables, { least: LEAST_ROWS, most: MOST_ROWS, growth: GROWTH })
  for (const { table } of grown) await ctx.sql(analyzeTable(table), {})
}

export const countGrownTablesJob: Sweep = { name: 'operations.count-grown-tables', run: countGrownTables }
