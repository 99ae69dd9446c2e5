import type pg from 'pg'

/**
 * What the schema `public` holds, one line a thing, sorted: `kind name = definition`. Without Prisma's own table.
 * A constraint stands for the index under it, and a column says itself that it is not null, because Postgres 18
 * has constraints for that and earlier ones do not. Of a partition only its options are told: the rest is its table's, which
 * is told as if it were none.
 */
export async function describeCatalogue(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(CATALOGUE)
  return rows.map(({ line }) => line).sort()
}

/** The part of a line that names the thing: `index contacts_email_idx`. */
export const nameOf = (line: string): string => line.split(' = ', 1)[0] ?? line

const CATALOGUE = `
with tables as (
  select oid, relname, relpersistence
    from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> '_prisma_migrations'
     and not relispartition
)
select format('table %s', relname) as line
  from tables
union all
select format('unlogged %s', relname)
  from tables
 where relpersistence = 'u'
union all
select format('option %s.%s = %s', relname, option_name, option_value)
  from pg_class, pg_options_to_table(reloptions)
 where relnamespace = 'public'::regnamespace and relkind = 'r'
union all
select format('column %s.%s = %s%s%s%s%s', relname, attname, format_type(atttypid, atttypmod),
              case when attcollation <> typcollation then ' collate ' || attcollation::regcollation end,
              case when attnotnull then ' not null' end,
              case attgenerated when '' then ' default ' else ' generated ' end || pg_get_expr(adbin, adrelid),
              case attidentity when '' then '' else ' identity ' || attidentity::text end)
  from tables
  join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
  join pg_type on pg_type.oid = atttypid
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select format('constraint %s.%s = %s', relname, conname, pg_get_constraintdef(pg_constraint.oid))
  from tables
  join pg_constraint on conrelid = tables.oid and contype <> 'n'
union all
select format('index %s = %s', indexrelid::regclass, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '))
  from tables
  join pg_index on indrelid = tables.oid
 where not exists (select from pg_constraint where conindid = indexrelid and conrelid = indrelid)
union all
select format('enum %s = %s', typname, string_agg(enumlabel, ', ' order by enumsortorder))
  from pg_type
  join pg_enum on enumtypid = pg_type.oid
 where typnamespace = 'public'::regnamespace
 group by typname
union all
select format('function %s = %s', proname, pg_get_functiondef(oid))
  from pg_proc
 where pronamespace = 'public'::regnamespace
   and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
union all
select format('extension %s', extname)
  from pg_extension
 where extname <> 'plpgsql'`
