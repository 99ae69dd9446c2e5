import type { Predicate } from '../../audience/compile.sql.ts'
import { eventCtes, heard, membershipCte, newIdAt } from '../../changes/changes.sql.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'

/**
 * Takes the right to move members of the DYNAMIC segments of project $1 until the transaction ends, if nobody has it,
 * and says what time it is; $2 is the shift of the clock.
 */
export const holdMemberships: Statement<{ held: boolean; now: Date }> = statement(
  'hold-memberships',
  `select pg_try_advisory_xact_lock(hashtextextended('segment members ' || $1::uuid::text, 0)) as held,
     (clock_timestamp() + $2::float8 * interval '1 millisecond')::timestamptz(3) as now`,
)

/** Holds the segments $2 of project $1, so that they stay what they are for the moment that it takes to move members. */
export const holdSegments: Statement<{ id: string; revision: number }> = statement(
  'hold-segments',
  `select id, revision from segments
   where project_id = $1::uuid and id = any($2::uuid[]) order by id for no key update`,
)

export type Moved = { entered: number; departed: number; heard: boolean }

/**
 * Moves members of segments of project $1, which are held; a move is one place of the arrays: $2 segment, $3 contact, $4
 * whether it enters, $5 whether it was there before the segment was filled. $6 whether entries and exits are recorded, $7
 * now, $8 whether the segments are lists, which filters may ask for as such. Contacts that are deleted, or being deleted,
 * are left out; nobody deletes the others before the transaction ends.
 */
export const moveMembers: Statement<Moved> = unpreparedStatement(
  `with contact as materialized (
     select id from contacts
     where project_id = $1::uuid and id = any($3::uuid[]) and ${isKept('contacts', '$1::uuid')}
     order by id for key share
   ),
   move as materialized (
     select m.* from unnest($2::uuid[], $3::uuid[], $4::boolean[], $5::boolean[])
       as m (segment_id, contact_id, enters, initial)
     join contact on contact.id = m.contact_id
   ),
   entered as (
     insert into segment_members (project_id, segment_id, contact_id, created_at)
     select $1::uuid, segment_id, contact_id, $7::timestamptz from move where enters
     on conflict do nothing returning segment_id, contact_id
   ),
   departed as (
     delete from segment_members d using move m
     where not m.enters and d.project_id = $1::uuid and d.segment_id = m.segment_id and d.contact_id = m.contact_id
     returning d.segment_id, d.contact_id
   ),
   moved as materialized (
     select move.* from move join
       (select *, true as enters from entered union all select *, false from departed) done
       using (segment_id, contact_id, enters)
   ),
   recorded as (
     select moved.contact_id, 'segment.' || s.slug || case when enters then '.entry' else '.exit' end as name,
       jsonb_build_object('segmentId', s.id, 'segmentName', s.name)
         || case when enters and initial and s.computed_at is null then '{"initial": true}' else '{}' end::jsonb as data
     from moved join segments s on s.project_id = $1::uuid and s.id = moved.segment_id where $6::boolean
   ),
   ${eventCtes(`select $1::uuid, ${newIdAt('$7')}, contact_id, name, null::uuid, data, $7::timestamptz
     from recorded`)},
   ${membershipCte('select $1::uuid as project_id, contact_id, segment_id from moved where $8::boolean', '$7')},
   counted as (
     update segments s set member_count = member_count + change.by
     from (select segment_id, sum(case when enters then 1 else -1 end)::int as by from moved group by segment_id) change
     where s.project_id = $1::uuid and s.id = change.segment_id and (s.type = 'STATIC' or s.track_membership)
   )
   select (select count(*) from entered)::int as entered, (select count(*) from departed)::int as departed,
     ${heard('heard_event', 'heard_member')} as heard`,
)

/**
 * Counts the stored members of segment $2 of project $1 and keeps the number; $3 now. No row when they are not stored (any
 * more). Nobody waits for it: the number is moved by what it was wrong, unless another count was faster. Key:
 * segment_members_pkey.
 */
export const countStored: Statement<{ count: number }> = statement(
  'count-stored-members',
  `with counted as materialized (
     select member_count as was, counted_at, (
       select count(*) from segment_members where project_id = $1::uuid and segment_id = $2::uuid)::int as members
     from segments where project_id = $1::uuid and id = $2::uuid and (type = 'STATIC' or track_membership)
   ),
   kept as (
     update segments s set counted_at = $3::timestamptz, member_count = s.member_count + counted.members - counted.was
     from counted where s.project_id = $1::uuid and s.id = $2::uuid and s.counted_at is not distinct from counted.counted_at
     returning s.member_count
   )
   select coalesce((select member_count from kept), members) as count from counted`,
)

/** Notes that the members of segment $2 of project $1, which is deleted, are to be removed. */
export const noteRemoval: Statement<object> = statement(
  'note-segment-removal',
  'insert into segment_removals (project_id, segment_id) values ($1::uuid, $2::uuid)',
)

/**
 * Removes $2 members of a deleted segment of project $1, and the note with the last of them. No row: there is none. They
 * are an array, not a join, so that each is looked up by its key, however many the planner expects.
 */
export const removeMembers: Statement<{ segmentId: string }> = statement(
  'remove-members-of-deleted',
  `with removal as (
     select segment_id from segment_removals where project_id = $1::uuid order by segment_id limit 1
   ),
   page as (
     select contact_id from segment_members
     where project_id = $1::uuid and segment_id = (select segment_id from removal) order by contact_id limit $2::int
   ),
   removed as (
     delete from segment_members m
     where m.project_id = $1::uuid and m.segment_id = (select segment_id from removal)
       and m.contact_id = any(array(select contact_id from page))
   ),
   ended as (
     delete from segment_removals r using removal
     where r.project_id = $1::uuid and r.segment_id = removal.segment_id and (select count(*) from page) < $2::int
   )
   select segment_id as "segmentId" from removal`,
)

/** The contact at place $4 after the contact $2 of project $1, or the last one up to $3. Key: contacts_pkey. */
export const rangeEnd: Statement<{ id: string }> = statement(
  'contact-range-end',
  `(select id from contacts where project_id = $1::uuid and id > $2::uuid and id <= $3::uuid
    order by id offset $4::int limit 1)`,
)

/** The newest contact of project $1. */
export const newestContact: Statement<{ id: string }> = statement(
  'newest-contact',
  'select id from contacts where project_id = $1::uuid order by id desc limit 1',
)

export type Difference = { contactId: string; enters: boolean }

/** Between the contacts $3 and $4 of project $1: who has to enter or to leave segment $2, by its condition. */
export const differences = (condition: Predicate): Statement<Difference> =>
  unpreparedStatement(
    `with matching as materialized (
       select c.id from contacts c
       where c.project_id = $1::uuid and c.id > $3::uuid and c.id <= $4::uuid and ${condition.text}
     ),
     member as materialized (
       select contact_id as id from segment_members
       where project_id = $1::uuid and segment_id = $2::uuid and contact_id > $3::uuid and contact_id <= $4::uuid
     )
     select id as "contactId", member.id is null as enters from matching full join member using (id)
     where matching.id is null or member.id is null order by id`,
  )

/** Members of segment $2 of project $1 after contact $3, $4 at most. */
export const membersAfter: Statement<Difference> = statement(
  'segment-members-after',
  `select contact_id as "contactId", false as enters from segment_members
   where project_id = $1::uuid and segment_id = $2::uuid and contact_id > $3::uuid order by contact_id limit $4::int`,
)

/** How many contacts between $2 and $3 of project $1 a condition has. */
export const countBetween = (condition: Predicate): Statement<{ count: number }> =>
  unpreparedStatement(
    `select count(*)::int as count from contacts c
     where c.project_id = $1::uuid and c.id > $2::uuid and c.id <= $3::uuid and ${condition.text}`,
  )
