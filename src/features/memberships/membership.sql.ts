import type { Predicate, PredicateParams } from '../../audience/compile.sql.ts'
import { heard, membershipCte, NEW_ID, plainEventCtes } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { ERASED, isKept } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'

/**
 * Takes the right to move members of the DYNAMIC segments of the project until the transaction ends, if nobody has it,
 * and says what time it is.
 */
export const holdMemberships = statement<
  { projectId: string; clockShift: number },
  { held: boolean; now: Date }
>(
  'hold-memberships',
  `select pg_try_advisory_xact_lock(hashtextextended('segment members ' || :projectId::uuid::text, 0)) as held,
     (clock_timestamp() + :clockShift::float8 * interval '1 millisecond')::timestamptz(3) as now`,
)

/** Holds segments, so that they stay what they are for the moment that it takes to move members. */
export const holdSegments = statement<{ projectId: string; ids: string[] }, { id: string; revision: number }>(
  'hold-segments',
  `select id, revision from segments
   where project_id = :projectId::uuid and id = any(:ids::uuid[]) order by id for no key update`,
)

export type Moved = { entered: number; departed: number; heard: Consumer[] }

/**
 * Moves members of segments, which are held; a move is one place of the arrays. `initial`: it was there before the segment
 * was filled; `records`: entries and exits are recorded; `areLists`: the segments are lists, which filters may ask for as
 * such. Contacts that are deleted, or being deleted, are left out; nobody deletes the others before the transaction ends.
 */
export const moveMembers = unpreparedStatement<
  {
    projectId: string
    segmentIds: string[]
    contactIds: string[]
    entering: boolean[]
    initial: boolean[]
    records: boolean
    now: Date
    areLists: boolean
  },
  Moved
>(
  `with contact as materialized (
     select id from contacts
     where project_id = :projectId::uuid and id = any(:contactIds::uuid[]) and email not like '${ERASED}%'
       and ${isKept('contacts')}
     order by id for key share
   ),
   move as materialized (
     select m.* from unnest(:segmentIds::uuid[], :contactIds::uuid[], :entering::boolean[], :initial::boolean[])
       as m (segment_id, contact_id, enters, initial)
     join contact on contact.id = m.contact_id
   ),
   entered as (
     insert into segment_members (project_id, segment_id, contact_id, created_at)
     select :projectId::uuid, segment_id, contact_id, :now::timestamptz from move where enters
     on conflict do nothing returning segment_id, contact_id
   ),
   departed as (
     delete from segment_members d using move m
     where not m.enters and d.project_id = :projectId::uuid and d.segment_id = m.segment_id
       and d.contact_id = m.contact_id
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
     from moved join segments s on s.project_id = :projectId::uuid and s.id = moved.segment_id
     where :records::boolean
   ),
   ${plainEventCtes(`select :projectId::uuid, ${NEW_ID}, contact_id, name, null::uuid, data, :now::timestamptz
     from recorded`)},
   ${membershipCte(`select :projectId::uuid as project_id, contact_id, segment_id from moved
     where :areLists::boolean`)},
   counted as (
     update segments s set member_count = member_count + change.by
     from (select segment_id, sum(case when enters then 1 else -1 end)::int as by from moved group by segment_id) change
     where s.project_id = :projectId::uuid and s.id = change.segment_id
       and (s.type = 'STATIC' or s.track_membership)
   )
   select (select count(*) from entered)::int as entered, (select count(*) from departed)::int as departed,
     ${heard('heard_event', 'heard_member')} as heard`,
)

/**
 * Counts the stored members of a segment and keeps the number. No row when they are not stored (any
 * more). Nobody waits for it: the number is moved by what it was wrong, unless another count was faster. Key:
 * segment_members_pkey.
 */
export const countStored = statement<
  { projectId: string; segmentId: string; clockShift: number },
  { count: number }
>(
  'count-stored-members',
  `with counted as materialized (
     select member_count as was, counted_at, (
       select count(*) from segment_members where project_id = :projectId::uuid
         and segment_id = :segmentId::uuid)::int as members
     from segments where project_id = :projectId::uuid and id = :segmentId::uuid
       and (type = 'STATIC' or track_membership)
   ),
   kept as (
     update segments s set counted_at = ${DATABASE_NOW},
       member_count = s.member_count + counted.members - counted.was
     from counted where s.project_id = :projectId::uuid and s.id = :segmentId::uuid
       and s.counted_at is not distinct from counted.counted_at
     returning s.member_count
   )
   select coalesce((select member_count from kept), members) as count from counted`,
)

/** Notes that the members of a deleted segment are to be removed. */
export const noteRemoval = statement<{ projectId: string; segmentId: string }>(
  'note-segment-removal',
  'insert into segment_removals (project_id, segment_id) values (:projectId::uuid, :segmentId::uuid)',
)

/**
 * Removes members of a deleted segment of the project, and the note with the last of them. No row: there is none. They
 * are an array, not a join, so that each is looked up by its key, however many the planner expects.
 */
export const removeMembers = statement<{ projectId: string; limit: number }, { segmentId: string }>(
  'remove-members-of-deleted',
  `with removal as (
     select segment_id from segment_removals where project_id = :projectId::uuid order by segment_id limit 1
   ),
   page as (
     select contact_id from segment_members
     where project_id = :projectId::uuid and segment_id = (select segment_id from removal)
       order by contact_id limit :limit::int
   ),
   removed as (
     delete from segment_members m
     where m.project_id = :projectId::uuid and m.segment_id = (select segment_id from removal)
       and m.contact_id = any(array(select contact_id from page))
   ),
   ended as (
     delete from segment_removals r using removal
     where r.project_id = :projectId::uuid and r.segment_id = removal.segment_id
       and (select count(*) from page) < :limit::int
   )
   select segment_id as "segmentId" from removal`,
)

export type Difference = { contactId: string; enters: boolean }

type Part = { projectId: string; after: string; until: string } & PredicateParams

/** Between two contacts: who has to enter or to leave a segment, by its condition. */
export const differences = (condition: Predicate) =>
  unpreparedStatement<Part & { segmentId: string }, Difference>(
    `with matching as materialized (
       select c.id from contacts c
       where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid
         and ${condition.text}
     ),
     member as materialized (
       select contact_id as id from segment_members
       where project_id = :projectId::uuid and segment_id = :segmentId::uuid and contact_id > :after::uuid
         and contact_id <= :until::uuid
     )
     select id as "contactId", member.id is null as enters from matching full join member using (id)
     where matching.id is null or member.id is null order by id`,
  )

/** Members of a segment after a contact. */
export const membersAfter = statement<
  { projectId: string; segmentId: string; after: string; limit: number },
  Difference
>(
  'segment-members-after',
  `select contact_id as "contactId", false as enters from segment_members
   where project_id = :projectId::uuid and segment_id = :segmentId::uuid and contact_id > :after::uuid
     order by contact_id limit :limit::int`,
)

/** How many contacts between two of them a condition has. */
export const countBetween = (condition: Predicate) =>
  unpreparedStatement<Part, { count: number }>(
    `select count(*)::int as count from contacts c
     where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid
       and ${condition.text}`,
  )
