import { analyticStatement, type Statement, statement } from '../../db/sql.ts'

/** When the event of project $1 and name $2 happened before which come $4 newer ones, if that was since $3. */
export const timeOfEvent: Statement<{ at: Date }> = analyticStatement(
  `select created_at as at from events where project_id = $1::uuid and name = $2 and created_at >= $3::timestamptz
   order by created_at desc offset $4::int limit 1`,
)

/** How many events of project $1 and name $2 there are from before $3; one more than $4 when there are more. */
export const countBefore: Statement<{ count: number }> = analyticStatement(
  `select count(*)::int as count from (
     select from events where project_id = $1::uuid and name = $2 and created_at < $3::timestamptz
     limit $4::int + 1) old`,
)

/**
 * Begins to delete the events of project $1 and name $2: those from $3 on, which are \`count\`, in the same commit;
 * those before it, which are no longer counted, in batches. What is recorded later stays. The counts are locked.
 */
export const beginDeletion: Statement<{ count: number }> = statement(
  'begin-to-delete-events',
  `with task as (
     insert into event_deletions as d (project_id, name, before) values ($1::uuid, $2, $3::timestamptz)
     on conflict (project_id, name) do update set before = greatest(d.before, excluded.before)
   ),
   young as (
     delete from events where project_id = $1::uuid and name = $2 and created_at >= $3::timestamptz returning id
   ),
   days as (delete from event_counts where project_id = $1::uuid and name = $2),
   name as (delete from event_names where project_id = $1::uuid and name = $2)
   select count(*)::int as count from young`,
)

/**
 * Deletes at most $3 events of project $1 that are to be deleted, of name $2 if it is not null, the newest first.
 * Returns nothing when there is nothing to delete, or somebody else is at it.
 */
export const deleteBatch: Statement<object> = statement(
  'delete-batch-of-events',
  `with task as materialized (
     select name, before from event_deletions where project_id = $1::uuid and ($2::text is null or name = $2)
     order by name limit 1 for update skip locked
   ),
   old as materialized (
     select e.id, e.created_at from task cross join lateral (
       select id, created_at from events
       where project_id = $1::uuid and name = task.name and created_at < task.before
       order by created_at desc limit $3::int) e
   ),
   -- By key, whatever the planner thinks of how many there are.
   gone as (delete from events e where e.project_id = $1::uuid and e.id = any(array(select id from old))),
   found as (select count(*) as count, min(created_at) as first from old),
   finished as (
     delete from event_deletions d using task, found
     where d.project_id = $1::uuid and d.name = task.name and found.count < $3::int
   ),
   progress as (
     update event_deletions d set before = found.first + interval '1 millisecond' from task, found
     where d.project_id = $1::uuid and d.name = task.name and found.count = $3::int
   )
   select name from task`,
)

/** Projects that have events to delete. */
export const projectsWithEventDeletions: Statement<{ id: string }> = statement(
  'projects-with-event-deletions',
  'select distinct project_id as id from event_deletions',
)
