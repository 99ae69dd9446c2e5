import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'

/** The wall time `:localTime` in the time zone of a row of `pg_timezone_names`. In a gap the time after it counts, of two the later one. */
const LOCAL_TIME = '(:localTime::timestamp at time zone z.name)'

/**
 * When a wall time is first and last in any time zone, and when in the one that is named, whatever its case; null for a
 * zone that is not known.
 */
export const spanOfLocalTime = statement<
  { localTime: string; timeZone: string; clockShift: number },
  { first: Date; own: Date | null; isOver: boolean }
>(
  'span-of-local-time',
  `select min(${LOCAL_TIME}) as first, max(${LOCAL_TIME}) <= ${DATABASE_NOW} as "isOver",
     max(${LOCAL_TIME}) filter (where lower(z.name) = lower(:timeZone)) as own
   from pg_timezone_names z`,
)

/** Stores when the wall time of a campaign is in every time zone; without a name: for all others. */
export const storeZoneTimes = statement<{ projectId: string; id: string }>(
  'store-campaign-zone-times',
  `update campaigns c set zone_times = (
     select jsonb_object_agg(lower(z.name), c.local_time at time zone z.name) from pg_timezone_names z
   ) || jsonb_build_object('', c.local_time at time zone c.time_zone)
   where c.project_id = :projectId::uuid and c.id = :id::uuid`,
)

/** They are not needed once the ledger is complete. */
export const removeZoneTimes = statement<{ projectId: string; id: string }>(
  'remove-campaign-zone-times',
  'update campaigns set zone_times = null where project_id = :projectId::uuid and id = :id::uuid',
)
