import { statement } from '../db/sql.ts'

/** Events `e` of the project that are not being deleted. */
export const NOT_BEING_DELETED = `not exists (
  select from event_deletions d where d.project_id = :projectId::uuid and d.name = e.name
    and e.created_at < d.before)`

/** How far the events of a project are counted. */
export type Recount = {
  settledUntil: Date
  version: number
  countedAt: Date | null
  tookMs: number
  openCount: number
}

/** The columns of a Recount. */
export const RECOUNT = `settled_until as "settledUntil", version, counted_at as "countedAt", took_ms as "tookMs",
  open_count as "openCount"`

/**
 * Locks the counts of the project against other transactions that change them for good. It is a statement of
 * its own, because the one that changes counts must see the result of those before it.
 */
export const lockCounts = statement<{ projectId: string; now: Date }, Recount>(
  'lock-event-counts',
  `insert into event_recounts as r (project_id, settled_until, due_at)
   values (:projectId::uuid, to_timestamp(0), :now::timestamptz)
   on conflict (project_id) do update set version = r.version + 1 returning ${RECOUNT}`,
)

/**
 * Takes the events of contacts, all or up to an id, out of the counts by name and day, as far as they are in them.
 * Index: events_project_id_contact_id_id_idx.
 */
export const uncountEvents = statement<{ projectId: string; contactIds: string[]; upTo: string | null }>(
  'uncount-events-of-contacts',
  `with gone as (
     select e.name, (e.created_at at time zone 'UTC')::date as day, count(*)::int as count from events e
     where e.project_id = :projectId::uuid and e.contact_id = any(:contactIds::uuid[])
       and (:upTo::uuid is null or e.id <= :upTo::uuid)
       and ${NOT_BEING_DELETED}
     group by 1, 2
   ),
   days as (
     update event_counts c set count = greatest(c.count - gone.count, 0) from gone
     where c.project_id = :projectId::uuid and c.name = gone.name and c.day = gone.day
   )
   update event_names n set count = greatest(n.count - settled.count, 0) from (
     select name, sum(count)::int as count from gone
     where day < (select (settled_until at time zone 'UTC')::date from event_recounts
       where project_id = :projectId::uuid)
     group by name) settled
   where n.project_id = :projectId::uuid and n.name = settled.name`,
)
