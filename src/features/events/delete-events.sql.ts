import { analyticStatement, type None, statement } from '../../db/sql.ts'

/** The time of the event of a name that has `newer` newer ones, if it is not before `earliest`. */
export const timeOfEvent = analyticStatement<
  { projectId: string; name: string; earliest: Date; newer: number },
  { at: Date }
>(
  `select created_at as at from events where project_id = :projectId::uuid and name = :name
     and created_at >= :earliest::timestamptz
   order by created_at desc offset :newer::int limit 1`,
)

/** How many events of a name there are from before a time; one more than `most` when there are more. */
export const countBefore = analyticStatement<
  { projectId: string; name: string; before: Date; most: number },
  { count: number }
>(
  `select count(*)::int as count from (
     select from events where project_id = :projectId::uuid and name = :name
       and created_at < :before::timestamptz
     limit :most::int + 1) old`,
)

/**
 * Begins to delete the events of a name: it deletes those from \`before\` on and returns their number as
 * \`count\`; older ones are taken out of the counts and deleted later in batches. Events that are recorded
 * later stay. The caller holds the lock of the counts.
 */
export const beginDeletion = statement<{ projectId: string; name: string; before: Date }, { count: number }>(
  'begin-to-delete-events',
  `with task as (
     insert into event_deletions as d (project_id, name, before)
       values (:projectId::uuid, :name, :before::timestamptz)
     on conflict (project_id, name) do update set before = greatest(d.before, excluded.before)
   ),
   young as (
     delete from events where project_id = :projectId::uuid and name = :name
       and created_at >= :before::timestamptz returning id
   ),
   days as (delete from event_counts where project_id = :projectId::uuid and name = :name),
   name as (delete from event_names where project_id = :projectId::uuid and name = :name)
   select count(*)::int as count from young`,
)

/**
 * Deletes at most `limit` events that are marked for deletion, of a name if it is not null, the newest first.
 * Returns nothing when none is left, or when another transaction deletes them.
 */
export const deleteBatch = statement<{ projectId: string; name: string | null; limit: number }>(
  'delete-batch-of-events',
  `with task as materialized (
     select name, before from event_deletions where project_id = :projectId::uuid
       and (:name::text is null or name = :name)
     order by name limit 1 for update skip locked
   ),
   old as materialized (
     select e.id, e.created_at from task cross join lateral (
       select id, created_at from events
       where project_id = :projectId::uuid and name = task.name and created_at < task.before
       order by created_at desc limit :limit::int) e
   ),
   -- By key, whatever the planner thinks of how many there are.
   gone as (delete from events e where e.project_id = :projectId::uuid
     and e.id = any(array(select id from old))),
   found as (select count(*) as count, min(created_at) as first from old),
   finished as (
     delete from event_deletions d using task, found
     where d.project_id = :projectId::uuid and d.name = task.name and found.count < :limit::int
   ),
   progress as (
     update event_deletions d set before = found.first + interval '1 millisecond' from task, found
     where d.project_id = :projectId::uuid and d.name = task.name and found.count = :limit::int
   )
   select name from task`,
)

/** Projects that have events to delete. */
export const projectsWithEventDeletions = statement<None, { id: string }>(
  'projects-with-event-deletions',
  'select distinct project_id as id from event_deletions',
)
