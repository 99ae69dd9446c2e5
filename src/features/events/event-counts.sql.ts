import { NOT_BEING_DELETED, RECOUNT, type Recount } from '../../changes/event-counts.sql.ts'
import { analyticStatement, type Statement, statement } from '../../db/sql.ts'

/*
 * Events are counted per name and day (UTC). Days that ended long ago are settled: counted once and for all. Those
 * after it are counted whenever somebody asks, or again and again in the background where they have many events;
 * so no count depends on when an event was committed, or on clocks that agree.
 */

/**
 * How far project $1 is settled, and the events after it. Where it is settled from ($2, the first id) is read
 * before, for the planner; what counts is how far it is in the snapshot of the counts. $3: the last count of the
 * days that are not settled is good enough, so the events are not looked at.
 */
const OPEN = `
  edge as (
    select coalesce(max(settled_until), to_timestamp(0)) as settled,
      (coalesce(max(settled_until), to_timestamp(0)) at time zone 'UTC')::date as day
    from event_recounts where project_id = $1::uuid
  ),
  open as (
    select e.name, e.created_at from events e
    where not $3::boolean and e.project_id = $1::uuid and e.id >= $2::uuid
      and e.created_at >= (select settled from edge) and ${NOT_BEING_DELETED}
  )`

/** How far the events of project $1 are counted. */
export const recountOf: Statement<Recount> = statement(
  'event-recount',
  `select ${RECOUNT} from event_recounts where project_id = $1::uuid`,
)

/** At most $2 projects whose events are to be counted at $1. Index: event_recounts_due_at_idx. */
export const projectsToCount: Statement<{ id: string }> = statement(
  'projects-to-count',
  `(select project_id as id from event_recounts where due_at <= $1::timestamptz order by due_at limit $2::int)
   union all
   (select id from projects p where not exists (select from event_recounts r where r.project_id = p.id)
    limit $2::int)`,
)

/** When the first event of project $1 with an id from $2 on happened. */
export const firstEventAt: Statement<{ at: Date }> = statement(
  'first-event-from',
  'select created_at as at from events where project_id = $1::uuid and id >= $2::uuid order by id limit 1',
)

/**
 * Counts the events of project $1 from $4 up to, without, $5, which are midnights, with ids from $2 up to $3.
 * Writes nothing, and returns nothing, when its counts have changed since version $6.
 */
export const recountDays: Statement<{ count: number }> = statement(
  'recount-days',
  `with counted as materialized (
     select e.name, (e.created_at at time zone 'UTC')::date as day, count(*)::int as count from events e
     where e.project_id = $1::uuid and e.id >= $2::uuid and e.id < $3::uuid
       and e.created_at >= $4::timestamptz and e.created_at < $5::timestamptz and ${NOT_BEING_DELETED}
     group by 1, 2
   ),
   fence as materialized (
     select from event_recounts
     where project_id = $1::uuid and version = $6::int and (select count(*) from counted) >= 0 for no key update
   ),
   kept as (
     select name, day, count from event_counts where project_id = $1::uuid
       and day >= ($4::timestamptz at time zone 'UTC')::date and day < ($5::timestamptz at time zone 'UTC')::date
   ),
   gone as (
     delete from event_counts c using kept where exists (select from fence)
       and c.project_id = $1::uuid and c.name = kept.name and c.day = kept.day
       and not exists (select from counted where counted.name = kept.name and counted.day = kept.day)
   ),
   names as (
     insert into event_names (project_id, name, count)
     select $1::uuid, name, 0 from (select distinct name from counted) n where exists (select from fence)
       and not exists (select from event_names known where known.project_id = $1::uuid and known.name = n.name)
     on conflict do nothing
   ),
   days as (
     insert into event_counts (project_id, name, day, count)
     select $1::uuid, name, day, counted.count from counted left join kept using (name, day)
     where exists (select from fence) and kept.count is distinct from counted.count
     on conflict (project_id, name, day) do update set count = excluded.count
   )
   select (select coalesce(sum(count), 0)::int from counted) as count from fence`,
)

/** Settles the days of project $1 from $2 up to, without, $3, which have just been counted. They are locked. */
export const settleDays: Statement<object> = statement(
  'settle-days-of-events',
  `with settled as (update event_recounts set settled_until = $3::timestamptz where project_id = $1::uuid)
   update event_names n set count = n.count + days.count from (
     select name, sum(count)::int as count from event_counts where project_id = $1::uuid
       and day >= ($2::timestamptz at time zone 'UTC')::date and day < ($3::timestamptz at time zone 'UTC')::date
     group by name) days
   where n.project_id = $1::uuid and n.name = days.name`,
)

/** Notes that project $1 was counted at $2 in $3 ms, found $4 events, and is to be counted again at $5. */
export const noteRecount: Statement<object> = statement(
  'note-event-recount',
  `update event_recounts set counted_at = $2::timestamptz, took_ms = $3::int, open_count = $4::int,
     due_at = $5::timestamptz where project_id = $1::uuid`,
)

/** At most $4 names of events that project $1 has, in their order. $2 and $3: see OPEN. */
export const eventNames: Statement<{ name: string }> = analyticStatement(
  `with ${OPEN}
   select name from event_names n where project_id = $1::uuid and (count > 0 or $3::boolean and exists (
     select from event_counts c where c.project_id = $1::uuid and c.name = n.name
       and c.day >= (select day from edge) and c.count > 0))
   union select name from open order by name limit $4::int`,
)

/** How many events project $1 has, of name $4 if it is not null. $2 and $3: see OPEN. */
export const eventTotal: Statement<{ count: number }> = analyticStatement(
  `with ${OPEN}
   select (coalesce((select sum(count) from event_names
       where project_id = $1::uuid and ($4::text is null or name = $4)), 0)
     + coalesce((select sum(count) from event_counts where $3::boolean and project_id = $1::uuid
       and day >= (select day from edge) and ($4::text is null or name = $4)), 0)
     + (select count(*) from open where $4::text is null or name = $4))::int as count`,
)

export type NameCount = { name: string; count: number }

/** What OPEN wants to know. */
export type OpenEvents = { firstId: string; kept: boolean }

/** Ids from `from` up to, without, `to`. */
type IdRange = { from: string; to: string }

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
): { statement: Statement<NameCount>; values: unknown[] } {
  const values: unknown[] = [projectId, firstId, kept, range.from, range.to, limit]
  const parts = [
    `select name, count(*) from open
     where created_at >= $4::timestamptz and created_at < $5::timestamptz group by name`,
  ]
  if (range.days) {
    const [most, first, last] = [looked, range.days.first, range.days.last].map((value) => values.push(value))
    parts.push(`
      select name, day.count from (
        select name from event_names where project_id = $1::uuid order by count desc, name limit $${most}::int) known
      cross join lateral (
        select sum(count) as count from event_counts c
        where c.project_id = $1::uuid and c.name = known.name and c.day between $${first}::date and $${last}::date
          and ($3::boolean or c.day < (select day from edge))) day`)
  }
  for (const { from, to } of range.rest) {
    parts.push(`
      select name, count(*) from events e
      where e.project_id = $1::uuid and e.id >= $${values.push(from)}::uuid and e.id < $${values.push(to)}::uuid
        and ($3::boolean or e.created_at < (select settled from edge)) and ${NOT_BEING_DELETED}
      group by name`)
  }
  const text = `with ${OPEN}, part (name, count) as (${parts.join(' union all ')})
    select name, sum(count)::int as count from part group by name having sum(count) > 0
    order by count desc, name limit $6::int`
  return { statement: analyticStatement(text), values }
}
