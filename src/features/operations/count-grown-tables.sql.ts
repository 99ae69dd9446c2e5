import { type None, statement, unpreparedStatement } from '../../db/sql.ts'

/**
 * Tables with `growth` times the rows that the planner counted, or more, quoted as SQL needs them. Rows of a partition count for its table as
 * well, and are counted with it. Autovacuum's minute is short enough for tables above `most`, and for small ones no plan is a bad one.
 */
export const grownTables = statement<{ least: number; most: number; growth: number }, { table: string }>(
  'grown-tables',
  `with live as (
     select relid, n_live_tup as rows from pg_stat_user_tables where schemaname = current_schema()
     union all
     select i.inhparent, t.n_live_tup from pg_stat_user_tables t join pg_inherits i on i.inhrelid = t.relid
     where t.schemaname = current_schema()
   ),
   summed as (select relid, sum(rows) as rows from live group by relid),
   grown as (
     select c.oid from summed join pg_class c on c.oid = summed.relid
     where summed.rows between :least::int and :most::int and summed.rows >= :growth::int * c.reltuples
   )
   select oid::regclass::text as "table" from grown
   where not exists (
     select from pg_inherits i where i.inhrelid = grown.oid and i.inhparent in (select oid from grown))`,
)

/** Leaves out what is locked. Takes a second at most for tables of the size that is asked for. */
export const analyzeTable = (quoted: string) => unpreparedStatement<None>(`analyze (skip_locked) ${quoted}`)
