import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'

/*
 * Events are counted per name and day (UTC) in the background, in the order of their ids: event_folds says up to
 * which id. The events after it, at most of the last minutes, are counted when somebody asks. After every commit
 * the counts are those of exactly the events before it, so whoever deletes events takes them out of the counts in
 * the same commit. The row of event_folds is locked by whoever changes counts.
 */

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'"

/**
 * The events of project $1 that are not in the counts. How far the fold is (`firstOpen`) is read before, as $2,
 * for the planner alone, which makes a good plan for few events when it knows this. When the fold has moved on
 * meanwhile, what counts is how far it is in the snapshot of the counts.
 */
const OPEN = `
  open as (
    select e.name, e.created_at from events e
    where e.project_id = $1::uuid and e.id >= $2::uuid
      and e.id >= coalesce((select first_open from event_folds where project_id = $1::uuid), ${FIRST_ID})
  )`

/** How far the fold of project $1 is. */
export const firstOpen: Statement<{ id: string }> = statement(
  'first-open-event',
  `select coalesce((select first_open from event_folds where project_id = $1::uuid), ${FIRST_ID}) as id`,
)

/**
 * Locks the fold of project $1, which is made if need be, and says how far it is. A statement of its own: the one
 * that changes counts must see what those before it have done.
 */
export const lockFold: Statement<{ firstOpen: string }> = statement(
  'lock-event-fold',
  `insert into event_folds as f (project_id, first_open)
   values ($1::uuid, ${FIRST_ID})
   on conflict (project_id) do update set first_open = f.first_open returning first_open as "firstOpen"`,
)

/** The projects that have events with ids below $1 which are not in the counts. A probe of the key for each. */
export const projectsToFold: Statement<{ id: string }> = statement(
  'projects-to-fold',
  `select p.id from projects p
   left join event_folds f on f.project_id = p.id
   cross join lateral (
     select from events e where e.project_id = p.id and e.id < $1::uuid
       and e.id >= coalesce(f.first_open, ${FIRST_ID})
     order by e.id limit 1) open`,
)

/** The id of the event of project $1 that comes $4 after $2, if it is below $3. */
export const idAfter: Statement<{ id: string }> = statement(
  'event-id-after',
  `select id from events where project_id = $1::uuid and id >= $2::uuid and id < $3::uuid
   order by id offset $4::int limit 1`,
)

/** Adds the events of project $1 from id $2 up to, without, $3 to the counts. The fold is locked. */
export const foldEvents: Statement<object> = statement(
  'fold-events',
  `with day as (
     select name, (created_at at time zone 'UTC')::date as day, count(*)::int as count from events
     where project_id = $1::uuid and id >= $2::uuid and id < $3::uuid group by 1, 2
   ),
   counts as (
     insert into event_counts as c (project_id, name, day, count)
     select $1::uuid, name, day, count from day order by name, day
     on conflict (project_id, name, day) do update set count = c.count + excluded.count
   ),
   names as (
     insert into event_names as n (project_id, name, count)
     select $1::uuid, name, sum(count)::int from day group by name order by name
     on conflict (project_id, name) do update set count = n.count + excluded.count
   )
   update event_folds set first_open = $3::uuid where project_id = $1::uuid`,
)

/** Names of events that project $1 has, in their order. $2 `firstOpen`. */
export const eventNames: Statement<{ name: string }> = unpreparedStatement(
  `with ${OPEN}
   select name from event_names where project_id = $1::uuid and count > 0
   union select name from open order by name`,
)

/** How many events project $1 has, of name $3 if it is not null. $2 `firstOpen`. */
export const eventTotal: Statement<{ count: number }> = unpreparedStatement(
  `with ${OPEN}
   select (coalesce((select sum(count) from event_names
       where project_id = $1::uuid and ($3::text is null or name = $3)), 0)
     + (select count(*) from open where $3::text is null or name = $3))::int as count`,
)

export type NameCount = { name: string; count: number }

/** Ids from `from` up to, without, `to`. */
type IdRange = { from: string; to: string }

/**
 * Events by name in the instants `from` up to, without, `to`: on whole `days` from the counts, beside them (`rest`)
 * and what is not in the counts one by one. The `limit` most frequent first. Of names that are not new the
 * `looked` with most events ever are looked at: of many that hardly ever happened it would take long to say
 * which did so more often. Key: the primary one of each table.
 */
export function countsByName(
  projectId: string,
  firstOpen: string,
  range: { from: Date; to: Date; days: { first: string; last: string } | null; rest: IdRange[] },
  { limit, looked }: { limit: number; looked: number },
): { statement: Statement<NameCount>; values: unknown[] } {
  const values: unknown[] = [projectId, firstOpen, range.from, range.to, limit]
  const parts = [
    `select name, count(*) from open
     where created_at >= $3::timestamptz and created_at < $4::timestamptz group by name`,
  ]
  if (range.days) {
    const [most, first, last] = [looked, range.days.first, range.days.last].map((value) => values.push(value))
    parts.push(`
      select name, day.count from (
        select name from event_names where project_id = $1::uuid order by count desc, name limit $${most}::int) known
      cross join lateral (
        select sum(count) as count from event_counts c
        where c.project_id = $1::uuid and c.name = known.name
          and c.day between $${first}::date and $${last}::date) day`)
  }
  for (const { from, to } of range.rest) {
    parts.push(`
      select name, count(*) from events e
      where e.project_id = $1::uuid and e.id >= $${values.push(from)}::uuid and e.id < $${values.push(to)}::uuid
        and e.id < (select first_open from event_folds where project_id = $1::uuid)
      group by name`)
  }
  const text = `with ${OPEN}, part (name, count) as (${parts.join(' union all ')})
    select name, sum(count)::int as count from part group by name having sum(count) > 0
    order by count desc, name limit $5::int`
  return { statement: unpreparedStatement(text), values }
}

/** How many contacts of project $1 had the events $2, from $3 up to, without, $4. */
export const uniqueContacts: Statement<NameCount> = statement(
  'unique-contacts-of-events',
  `select name, count(distinct contact_id)::int as count from events
   where project_id = $1::uuid and name = any($2::text[])
     and created_at >= $3::timestamptz and created_at < $4::timestamptz
   group by name`,
)

/** The same as an estimate from one contact in 32. Index: events_of_some_contacts. */
export const estimatedContacts: Statement<NameCount> = statement(
  'estimated-contacts-of-events',
  `select name, (count(distinct contact_id) * 32)::int as count from events
   where project_id = $1::uuid and name = any($2::text[])
     and created_at >= $3::timestamptz and created_at < $4::timestamptz
     and get_byte(uuid_send(contact_id), 15) < 8
   group by name`,
)

/** The id of the last event of project $1 and name $2. */
export const newestEvent: Statement<{ id: string }> = statement(
  'newest-event',
  `select id from events where project_id = $1::uuid and name = $2 order by created_at desc limit 1`,
)

/**
 * Deletes events of project $1 and name $2 with ids below $3, the oldest first from $4 on, at most $5, and takes
 * them out of the counts. The fold is locked. `last` is where the next ones are.
 */
export const deleteEvents: Statement<{ found: number; last: Date | null }> = statement(
  'delete-events',
  `with old as (
     select id, created_at from events
     where project_id = $1::uuid and name = $2 and id < $3::uuid and created_at >= $4::timestamptz
     order by created_at limit $5::int
   ),
   gone as (
     delete from events e using old where e.project_id = $1::uuid and e.id = old.id returning e.id, e.created_at
   ),
   day as (
     select (created_at at time zone 'UTC')::date as day, count(*)::int as count from gone
     where id < (select first_open from event_folds where project_id = $1::uuid) group by 1
   ),
   days as (
     update event_counts c set count = c.count - day.count from day
     where c.project_id = $1::uuid and c.name = $2 and c.day = day.day
   ),
   name as (
     update event_names set count = count - coalesce((select sum(count) from day), 0)
     where project_id = $1::uuid and name = $2
   )
   select count(*)::int as found, max(created_at) as last from old`,
)

/** Removes the counts of project $1 and name $2 that have come to nothing. The fold is locked. */
export const dropEmptyCounts: Statement<object> = statement(
  'drop-empty-event-counts',
  `with days as (delete from event_counts where project_id = $1::uuid and name = $2 and count <= 0)
   delete from event_names where project_id = $1::uuid and name = $2 and count <= 0`,
)
