import { NOT_BEING_DELETED, RECOUNT, type Recount } from '../../changes/event-counts.sql.ts'
import { analyticStatement, statement } from '../../db/sql.ts'

/*
 * Events are counted per name and day (UTC). Days that ended long ago are settled: counted once and for all. Those
 * after it are counted whenever somebody asks, or again and again in the background where they have many events;
 * so no count depends on when an event was committed, or on clocks that agree.
 */

/**
 * How far the project is settled, and the events after it. Where it is settled from (`firstId`) is read before, for the
 * planner; what counts is how far it is in the snapshot of the counts. `kept`: the last count of the days that are not
 * settled is good enough, so the events are not looked at.
 */
const OPEN = `
  edge as (
    select coalesce(max(settled_until), to_timestamp(0)) as settled,
      (coalesce(max(settled_until), to_timestamp(0)) at time zone 'UTC')::date as day
    from event_recounts where project_id = :projectId::uuid
  ),
  open as (
    select e.name, e.created_at from events e
    where not :kept::boolean and e.project_id = :projectId::uuid and e.id >= :firstId::uuid
      and e.created_at >= (select settled from edge) and ${NOT_BEING_DELETED}
  )`

/** How far the events of the project are counted. */
export const recountOf = statement<{ projectId: string }, Recount>(
  'event-recount',
  `select ${RECOUNT} from event_recounts where project_id = :projectId::uuid`,
)

/** Projects whose counting is due. Index: event_recounts_due_at_idx. */
export const projectsToCount = statement<{ now: Date; limit: number }, { id: string }>(
  'projects-to-count',
  `(select project_id as id from event_recounts where due_at <= :now::timestamptz order by due_at
     limit :limit::int)
   union all
   (select id from projects p where not exists (select from event_recounts r where r.project_id = p.id)
    limit :limit::int)`,
)

/** When the first event with an id from `firstId` on happened. */
export const firstEventAt = statement<{ projectId: string; firstId: string }, { at: Date }>(
  'first-event-from',
  `select created_at as at from events where project_id = :projectId::uuid and id >= :firstId::uuid
     order by id limit 1`,
)

/**
 * Counts the events `from` up to, without, `to`, which are midnights, with ids from `firstId` up to `endId`.
 * Writes nothing, and returns nothing, when the counts of the project have changed since that version.
 */
export const recountDays = statement<
  { projectId: string; firstId: string; endId: string; from: Date; to: Date; version: number },
  { count: number }
>(
  'recount-days',
  `with counted as materialized (
     select e.name, (e.created_at at time zone 'UTC')::date as day, count(*)::int as count from events e
     where e.project_id = :projectId::uuid and e.id >= :firstId::uuid and e.id < :endId::uuid
       and e.created_at >= :from::timestamptz and e.created_at < :to::timestamptz and ${NOT_BEING_DELETED}
     group by 1, 2
   ),
   fence as materialized (
     select from event_recounts
     where project_id = :projectId::uuid and version = :version::int
       and (select count(*) from counted) >= 0 for no key update
   ),
   kept as (
     select name, day, count from event_counts where project_id = :projectId::uuid
       and day >= (:from::timestamptz at time zone 'UTC')::date
       and day < (:to::timestamptz at time zone 'UTC')::date
   ),
   gone as (
     delete from event_counts c using kept where exists (select from fence)
       and c.project_id = :projectId::uuid and c.name = kept.name and c.day = kept.day
       and not exists (select from counted where counted.name = kept.name and counted.day = kept.day)
   ),
   names as (
     insert into event_names (project_id, name, count)
     select :projectId::uuid, name, 0 from (select distinct name from counted) n
     where exists (select from fence)
       and not exists (select from event_names known where known.project_id = :projectId::uuid
         and known.name = n.name)
     on conflict do nothing
   ),
   days as (
     insert into event_counts (project_id, name, day, count)
     select :projectId::uuid, name, day, counted.count from counted left join kept using (name, day)
     where exists (select from fence) and kept.count is distinct from counted.count
     on conflict (project_id, name, day) do update set count = excluded.count
   )
   select (select coalesce(sum(count), 0)::int from counted) as count from fence`,
)

/** Settles the days `from` up to, without, `to`, which have just been counted. They are locked. */
export const settleDays = statement<{ projectId: string; from: Date; to: Date }>(
  'settle-days-of-events',
  `with settled as (update event_recounts set settled_until = :to::timestamptz
     where project_id = :projectId::uuid)
   update event_names n set count = n.count + days.count from (
     select name, sum(count)::int as count from event_counts where project_id = :projectId::uuid
       and day >= (:from::timestamptz at time zone 'UTC')::date
       and day < (:to::timestamptz at time zone 'UTC')::date
     group by name) days
   where n.project_id = :projectId::uuid and n.name = days.name`,
)

/** Notes how long the count of the project took, what it found, and when the next one is due. */
export const noteRecount = statement<{
  projectId: string
  now: Date
  tookMs: number
  openCount: number
  dueAt: Date
}>(
  'note-event-recount',
  `update event_recounts set counted_at = :now::timestamptz, took_ms = :tookMs::int,
     open_count = :openCount::int,
     due_at = :dueAt::timestamptz where project_id = :projectId::uuid`,
)

/** Names of events that the project has, in their order. See OPEN. */
export const eventNames = analyticStatement<
  { projectId: string; firstId: string; kept: boolean; limit: number },
  { name: string }
>(
  `with ${OPEN}
   select name from event_names n where project_id = :projectId::uuid
     and (count > 0 or :kept::boolean and exists (
     select from event_counts c where c.project_id = :projectId::uuid and c.name = n.name
       and c.day >= (select day from edge) and c.count > 0))
   union select name from open order by name limit :limit::int`,
)

/** How many events the project has, of a name if it is not null. See OPEN. */
export const eventTotal = analyticStatement<
  { projectId: string; firstId: string; kept: boolean; name: string | null },
  { count: number }
>(
  `with ${OPEN}
   select (coalesce((select sum(count) from event_names
       where project_id = :projectId::uuid and (:name::text is null or name = :name)), 0)
     + coalesce((select sum(count) from event_counts where :kept::boolean and project_id = :projectId::uuid
       and day >= (select day from edge) and (:name::text is null or name = :name)), 0)
     + (select count(*) from open where :name::text is null or name = :name))::int as count`,
)

export type NameCount = { name: string; count: number }

/** Parameters of OPEN. */
export type OpenEvents = { firstId: string; kept: boolean }

/** Ids from `from` up to, without, `to`. */
type IdRange = { from: string; to: string }

type RestId = `restFrom${number}` | `restTo${number}`

type CountParams = OpenEvents & {
  projectId: string
  from: Date
  to: Date
  firstDay: string | null
  lastDay: string | null
  looked: number
  limit: number
} & Record<RestId, string>

/**
 * Events by name in the instants `from` up to, without, `to`: on whole `days` from the counts, beside them (`rest`)
 * and of the days that are not settled one by one. The `limit` most frequent first. Of names that are not new the
 * `looked` with most events ever are looked at: of many that hardly ever happened it would take long to say
 * which did so more often. Key: the primary one of each table.
 */
export function countsByName(
  projectId: string,
  { firstId, kept }: OpenEvents,
  range: { from: Date; to: Date; days: { first: string; last: string } | null; rest: IdRange[] },
  { limit, looked }: { limit: number; looked: number },
) {
  const { from, to, days, rest } = range
  const parts = [
    `select name, count(*) from open
     where created_at >= :from::timestamptz and created_at < :to::timestamptz group by name`,
  ]
  if (days) {
    parts.push(`
      select name, day.count from (
        select name from event_names where project_id = :projectId::uuid
        order by count desc, name limit :looked::int) known
      cross join lateral (
        select sum(count) as count from event_counts c
        where c.project_id = :projectId::uuid and c.name = known.name
          and c.day between :firstDay::date and :lastDay::date
          and (:kept::boolean or c.day < (select day from edge))) day`)
  }
  const restIds: Record<RestId, string> = {}
  for (const [index, ids] of rest.entries()) {
    restIds[`restFrom${index}`] = ids.from
    restIds[`restTo${index}`] = ids.to
    parts.push(`
      select name, count(*) from events e
      where e.project_id = :projectId::uuid and e.id >= :restFrom${index}::uuid and e.id < :restTo${index}::uuid
        and (:kept::boolean or e.created_at < (select settled from edge)) and ${NOT_BEING_DELETED}
      group by name`)
  }
  const text = `with ${OPEN}, part (name, count) as (${parts.join(' union all ')})
    select name, sum(count)::int as count from part group by name having sum(count) > 0
    order by count desc, name limit :limit::int`
  const [firstDay, lastDay] = [days?.first ?? null, days?.last ?? null]
  return {
    statement: analyticStatement<CountParams, NameCount>(text),
    params: { projectId, firstId, kept, from, to, firstDay, lastDay, looked, limit, ...restIds },
  }
}
