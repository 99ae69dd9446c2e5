import { usedOf } from '../../admission/metering/usage.sql.ts'
import { statement } from '../../db/sql.ts'
import type { BillingCategory } from '../../generated/prisma/enums.ts'

export type Usage = { category: BillingCategory; limit: number | null; usage: number }

/** The four categories with what is counted in the month that begins on this day, and their caps. Keys: the primary ones. */
export const usageOfMonth = statement<{ projectId: string; month: string }, Usage>(
  'billing-usage-of-month',
  `select c.category, l."limit", ${usedOf({ projectId: ':projectId::uuid', month: ':month::date', category: 'c.category' })} as usage
   from unnest(enum_range(null::billing_category)) as c (category)
   left join billing_limits l on l.project_id = :projectId::uuid and l.category = c.category`,
)

/** Sets the caps; the lists belong together. Key: billing_limits_pkey. */
export const setCaps = statement<{ projectId: string; categories: string[]; limits: (number | null)[] }>(
  'set-billing-limits',
  `insert into billing_limits (project_id, category, "limit")
   select :projectId::uuid, given.category::billing_category, given."limit"
   from unnest(:categories::text[], :limits::int[]) as given (category, "limit") order by given.category
   on conflict (project_id, category) do update set "limit" = excluded."limit"`,
)

/** Projects whose messages are counted apart. Key: billing_tallies_pkey. */
export const talliedProjects = statement<{ limit: number }, { projectId: string }>(
  'projects-with-billing-tallies',
  `with recursive tallied as (
     (select project_id from billing_tallies order by project_id limit 1)
     union all
     select (select t.project_id from billing_tallies t where t.project_id > tallied.project_id
       order by t.project_id limit 1)
     from tallied where tallied.project_id is not null
   )
   select project_id as "projectId" from tallied where project_id is not null limit :limit::int`,
)

/** Adds what is counted apart to the usage, up to so many rows. Key: billing_tallies_pkey. */
export const foldBillingTallies = statement<{ projectId: string; limit: number }, { folded: number }>(
  'fold-billing-tallies',
  `with few as (
     select project_id, month, category, id from billing_tallies where project_id = :projectId::uuid limit :limit::int
   ),
   gone as (
     delete from billing_tallies t using few
     where t.project_id = few.project_id and t.month = few.month and t.category = few.category and t.id = few.id
     returning t.project_id, t.month, t.category, t.count
   ),
   added as (
     insert into billing_usage as u (project_id, month, category, used)
     select project_id, month, category, sum(count)::int from gone group by project_id, month, category
     order by month, category
     on conflict (project_id, month, category) do update set used = u.used + excluded.used
   )
   select count(*)::int as folded from gone`,
)

/** Marks what has come near its cap in the month and nobody was warned of. Key: billing_usage_pkey. */
export const takeWarnings = statement<
  { projectId: string; month: string; percent: number; now: Date },
  Usage & { limit: number }
>(
  'take-billing-warnings',
  `update billing_usage u set warned_at = :now::timestamptz from billing_limits l
   where u.project_id = :projectId::uuid and u.month = :month::date and u.warned_at is null
     and l.project_id = u.project_id and l.category = u.category and l."limit" is not null
     and u.used::bigint * 100 >= l."limit"::bigint * :percent::int
   returning u.category, l."limit", u.used as usage`,
)
