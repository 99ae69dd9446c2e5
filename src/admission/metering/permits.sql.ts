import { DATABASE_NOW } from '../../db/database-clock.ts'
import { shortStatement } from '../../db/sql.ts'
import type { BillingCategory } from '../../generated/prisma/enums.ts'
import { usedOf } from './usage.sql.ts'

/** A category of a project in the month that begins on this day, "2030-05-01". */
export type Metered = { projectId: string; category: BillingCategory; month: string }

/** Whatever a process held has been used or given back when nobody has taken permits for this long. */
const SETTLED = "interval '2 minutes'"

/** Permits that are out. More than are counted, because processes hold some; fewer when the cap was set later. */
const OUT = `case when u.granted_at is null or u.granted_at < ${DATABASE_NOW} - ${SETTLED}
  then (select used from counted) else greatest(u.reserved, (select used from counted)) end`

const granted = (out: string): string => `case when (select cap from capped) - ${out} < :least::int then 0
  else least((select cap from capped) - ${out}, greatest(:least::int, least(:wanted::int, ((select cap from capped) - ${out}) / :share::int))) end`

/**
 * Takes permits of a project's cap: at least `least` or none, and up to `wanted` where the rest of the cap is large. The row
 * stays locked until the commit of this statement alone. No row: there is no cap. Keys: billing_limits_pkey,
 * billing_usage_pkey, billing_tallies_pkey.
 */
export const takeMailPermits = shortStatement<
  Metered & { least: number; wanted: number; share: number; clockShift: number },
  { cap: number; used: number; granted: number }
>(
  'take-mail-permits',
  `with capped as (
     select "limit" as cap from billing_limits
     where project_id = :projectId::uuid and category = :category::billing_category and "limit" is not null
   ),
   counted as materialized (
     select ${usedOf({ projectId: ':projectId::uuid', month: ':month::date', category: ':category::billing_category' })} as used
   )
   insert into billing_usage as u (project_id, month, category, reserved, granted, granted_at)
   select :projectId::uuid, :month::date, :category::billing_category, counted.used + ${granted('counted.used')},
     ${granted('counted.used')}, ${DATABASE_NOW}
   from capped, counted
   on conflict (project_id, month, category) do update set
     reserved = ${OUT} + ${granted(OUT)}, granted = ${granted(OUT)},
     granted_at = case when ${granted(OUT)} > 0 then ${DATABASE_NOW} else u.granted_at end
   returning (select cap from capped) as cap, (select used from counted) as used, granted`,
)

/** Gives permits back that were taken a moment ago. Key: billing_usage_pkey. */
export const giveMailPermitsBack = shortStatement<Metered & { count: number }>(
  'give-mail-permits-back',
  `update billing_usage set reserved = greatest(0, reserved - :count::int)
   where project_id = :projectId::uuid and month = :month::date and category = :category::billing_category`,
)
