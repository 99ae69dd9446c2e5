import type { Predicate } from '../../audience/compile.sql.ts'
import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'

/** Locks segment $2 of project $1: whoever changes members of a segment waits for the others. */
export const lockSegment: Statement<{ id: string }> = statement(
  'lock-segment',
  'select id from segments where project_id = $1::uuid and id = $2::uuid for update',
)

/**
 * Takes changes of contacts of project $1 that nobody else has taken, $2 at most, and says whose they are, and how
 * many of each contact.
 */
export const takeChanges: Statement<{ contactId: string; changes: number }> = statement(
  'take-contact-changes',
  `with taken as (
     delete from contact_changes where project_id = $1::uuid and id = any(array(
       select id from contact_changes where project_id = $1::uuid order by id limit $2::int
       for update skip locked
     )) returning contact_id
   )
   select contact_id as "contactId", count(*)::int as changes from taken group by contact_id`,
)

/** Projects with changes of contacts that no segment has followed yet. */
export const changedProjects: Statement<{ projectId: string }> = statement(
  'projects-with-contact-changes',
  `with recursive project as (
     (select project_id from contact_changes order by project_id limit 1)
     union all
     select (select c.project_id from contact_changes c where c.project_id > project.project_id
       order by c.project_id limit 1)
     from project where project.project_id is not null
   )
   select project_id as "projectId" from project where project_id is not null`,
)

/** Of the contacts of project $1 with ids greater than $2 the id of the one at position $3, the first is 0. */
export const contactAt: Statement<{ id: string }> = statement(
  'contact-at',
  'select id from contacts where project_id = $1::uuid and id > $2::uuid order by id offset $3::int limit 1',
)

export type Moved = { entered: number; departed: number }

/**
 * What all statements that move members have in common: $1 project, $2 segment, $3 ids of contacts, $4 and $5 names of the
 * events of entry and exit, $6 their data, $7 now, $8 what ids of events begin with, $9 whether they are recorded,
 * $10 whether segments may ask for the members as such (a list kept by hand) and not only for these events.
 */
export const MOVE_PARAMETERS = 10

/**
 * The CTEs that follow `entered` and `departed`. Contacts that moved count as changed where a segment asks for it,
 * be it in the condition of another one. Until all contacts have been looked at once, the number of members is
 * what was counted otherwise, and not moved from there.
 */
const RECORD = `
    moved as materialized (
      select contact_id, $4::text as event, ($8::text || substr(gen_random_uuid()::text, 16))::uuid as event_id
      from entered
      union all
      select contact_id, $5::text, ($8::text || substr(gen_random_uuid()::text, 16))::uuid from departed
    ),
    event as (
      insert into events (project_id, id, contact_id, name, data, created_at)
      select $1::uuid, event_id, contact_id, event, $6::jsonb, $7::timestamptz from moved where $9::boolean
    ),
    followed as (
      insert into contact_changes (project_id, id, contact_id)
      select $1::uuid, event_id, contact_id from moved
      where exists (select from segments where project_id = $1::uuid and track_membership and type = 'DYNAMIC')
        and ($10::boolean or exists (select from segments
          where project_id = $1::uuid and type = 'DYNAMIC' and condition::text like '%event.segment.%'))
    ),
    counted as (
      update segments set member_count = member_count
        + (select count(*) from entered)::int - (select count(*) from departed)::int
      where project_id = $1::uuid and id = $2::uuid and (type = 'STATIC' or computed_at is not null)
        and exists (select from moved)
    )
    select (select count(*) from entered)::int as entered, (select count(*) from departed)::int as departed`

/** Members $3 that leave: with `departing` (id), contacts that are held until the end and so cannot be deleted. */
const DEPARTED = `
    departed as (
      delete from segment_members where project_id = $1::uuid and segment_id = $2::uuid
        and contact_id = any(array(select id from departing)) returning contact_id
    )`

const ENTERED = `
    entered as (
      insert into segment_members (project_id, segment_id, contact_id, created_at)
      select $1::uuid, $2::uuid, id, $7::timestamptz from entering
      on conflict do nothing returning contact_id
    )`

/** Which contacts a statement is about: those with the ids $3, or those between these two ids. */
export type Scope = 'each' | 'between'

const CANDIDATES: Record<Scope, (id: string) => string> = {
  each: (id) => `${id} = any($3::uuid[])`,
  between: (id) => `${id} > ($3::uuid[])[1] and ${id} <= ($3::uuid[])[2]`,
}

/**
 * Brings the members of a segment in line with its condition, as far as the contacts $3 are concerned: those with
 * these ids or, `between`, those after the first and up to the second. The segment is locked, so that each entry
 * and each exit is recorded once. Contacts that move are held until the end: nobody deletes them meanwhile.
 * They are arrays, not joins, so that each is looked up by its key, however few the planner expects.
 */
export const moveMembers = (condition: Predicate, scope: Scope): Statement<Moved> =>
  unpreparedStatement(`
    with matching as materialized (
      select c.id from contacts c
      where c.project_id = $1::uuid and ${CANDIDATES[scope]('c.id')} and ${condition.text}
    ),
    member as materialized (
      select m.contact_id as id from segment_members m
      where m.project_id = $1::uuid and m.segment_id = $2::uuid and ${CANDIDATES[scope]('m.contact_id')}
    ),
    entering as materialized (
      select id from contacts where project_id = $1::uuid
        and id = any(array(select id from matching except select id from member)) order by id for key share
    ),
    departing as materialized (
      select id from contacts where project_id = $1::uuid
        and id = any(array(select id from member except select id from matching)) order by id for key share
    ),${ENTERED},${DEPARTED},${RECORD}`)

/** Puts the contacts $3 on the list of a STATIC segment. */
export const addMembers: Statement<Moved> = statement(
  'add-segment-members',
  `with entering as materialized (
      select id from contacts where project_id = $1::uuid and id = any($3::uuid[]) order by id for key share
    ),
    departed as (select null::uuid as contact_id where false),${ENTERED},${RECORD}`,
)

/** Takes the contacts $3 off the list of a STATIC segment. */
export const removeMembers: Statement<Moved> = statement(
  'remove-segment-members',
  `with departing as materialized (
      select id from contacts where project_id = $1::uuid and id = any($3::uuid[]) order by id for key share
    ),
    entered as (select null::uuid as contact_id where false),${DEPARTED},${RECORD}`,
)

/** Which of the addresses $2 are those of contacts of project $1. Index: contacts_project_id_email_key. */
export const contactsByEmail: Statement<{ id: string; email: string }> = statement(
  'contacts-by-email',
  'select id, email from contacts where project_id = $1::uuid and email = any($2::text[])',
)

/**
 * Counts the stored members of segment $2 of project $1, which is locked, and keeps the number; $3 now. No row when
 * they are not stored (any more). Key: segment_members_pkey.
 */
export const countStored: Statement<{ count: number }> = statement(
  'count-stored-members',
  `update segments set counted_at = $3::timestamptz, member_count = (
     select count(*) from segment_members where project_id = $1::uuid and segment_id = $2::uuid)
   where project_id = $1::uuid and id = $2::uuid and (type = 'STATIC' or track_membership)
   returning member_count as count`,
)

/**
 * Held by whoever changes, of project $1, which segments there are or what they ask for: what he has found out
 * about them, that something is used or that there is no circle, stays true until he is done.
 */
export const lockConditions: Statement<{ id: string }> = statement(
  'lock-segment-conditions',
  'select id from projects where id = $1::uuid for no key update',
)

/** Locks segment $2 of project $1 and those that may ask for it, in the order in which all others lock them. */
export const lockWithDependents: Statement<{ id: string }> = statement(
  'lock-segment-with-dependents',
  `select id from segments where project_id = $1::uuid
     and (id = $2::uuid or type = 'DYNAMIC' and track_membership and condition::text like '%"segment.%')
   order by id for update`,
)

/** Has the tracked segments of project $1 that may ask for another one be computed soon. */
export const recomputeDependents: Statement<object> = statement(
  'recompute-dependent-segments',
  `update segments set computed_at = null where project_id = $1::uuid
     and type = 'DYNAMIC' and track_membership and condition::text like '%"segment.%'`,
)
