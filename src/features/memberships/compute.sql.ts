import { statement } from '../../db/sql.ts'

/** Projects whose segments have to be looked at by now. Index: segment_checks_due_at_idx. */
export const projectsToCheck = statement<{ clockShift: number; limit: number }, { projectId: string }>(
  'projects-with-segments-to-check',
  `select project_id as "projectId" from segment_checks
   where due_at <= now() + :clockShift::float8 * interval '1 millisecond' order by due_at limit :limit::int`,
)

/** Has the segments of the project be looked at at once. */
export const checkNow = statement<{ projectId: string; clockShift: number }>(
  'check-segments-now',
  `insert into segment_checks (project_id, due_at, windows_at)
   select :projectId::uuid, at, at from (select now() + :clockShift::float8 * interval '1 millisecond' as at)
   on conflict (project_id) do update set due_at = excluded.due_at`,
)

export type CheckRow = {
  now: Date
  dueAt: Date
  restsUntil: Date
  windowsAt: Date
  scanTo: Date | null
  scanAfter: string | null
  /** The oldest transaction that is under way and writes. */
  oldestXid: string
}

/** The state of the project and the time. */
export const checkOf = statement<{ projectId: string; clockShift: number }, CheckRow>(
  'segment-check',
  `select (now() + :clockShift::float8 * interval '1 millisecond')::timestamptz(3) as now, due_at as "dueAt",
     rests_until as "restsUntil", windows_at as "windowsAt", scan_to as "scanTo", scan_after as "scanAfter",
     pg_snapshot_xmin(pg_current_snapshot())::text as "oldestXid"
   from segment_checks where project_id = :projectId::uuid`,
)

/** Lets the project rest until `dueAt`, unless another look at its segments was asked for meanwhile. */
export const restUntil = statement<{ projectId: string; dueAt: Date; restsUntil: Date; seenDueAt: Date }>(
  'rest-segments',
  `update segment_checks set due_at = case when due_at = :seenDueAt::timestamptz then :dueAt::timestamptz
     else due_at end,
     rests_until = greatest(rests_until, :restsUntil::timestamptz)
   where project_id = :projectId::uuid`,
)

/** Windows are followed from now on when the segment is the first that is tracked. */
export const beginWindows = statement<{ projectId: string; segmentId: string; clockShift: number }>(
  'begin-segment-windows',
  `update segment_checks set windows_at = now() + :clockShift::float8 * interval '1 millisecond',
     scan_to = null, scan_after = null
   where project_id = :projectId::uuid
     and not exists (select from segments s where s.project_id = :projectId::uuid and s.id <> :segmentId::uuid
     and s.type = 'DYNAMIC' and s.track_membership)`,
)

/** Notes until when windows have been followed, and how far a search goes: to a time, after a contact. */
export const noteWindows = statement<{
  projectId: string
  windowsAt: Date
  scanTo: Date | null
  scanAfter: string | null
}>(
  'note-segment-windows',
  `update segment_checks set windows_at = :windowsAt::timestamptz, scan_to = :scanTo::timestamptz,
     scan_after = :scanAfter::uuid
   where project_id = :projectId::uuid`,
)

/**
 * Asks for a pass over all contacts of a segment that begins after this, and returns its number. It is not
 * the next number, which a changed segment gets, so that a pass that a caller waits for can be told apart.
 * Any later pass serves as well.
 */
export const askPass = statement<{ projectId: string; segmentId: string }, { asked: number }>(
  'ask-segment-pass',
  `update segments set pass_asked = pass + 2 where project_id = :projectId::uuid and id = :segmentId::uuid
   returning pass_asked as asked`,
)

/** Asks for passes of segments that no caller waits for. */
export const askPasses = statement<{ projectId: string; segmentIds: string[] }>(
  'ask-segment-passes',
  `update segments set pass_asked = greatest(pass_asked, pass + 1) where project_id = :projectId::uuid
     and id = any(:segmentIds::uuid[])`,
)

/** Has no part of a pass of a segment be tried before a time. */
export const holdPass = statement<{ projectId: string; segmentId: string; until: Date }>(
  'hold-segment-pass',
  `update segments set pass_held_until = :until::timestamptz where project_id = :projectId::uuid
     and id = :segmentId::uuid`,
)

/** Dates the last count of a segment's members at `until`, so that the next one waits. */
export const holdCount = statement<{ projectId: string; segmentId: string; until: Date }>(
  'hold-segment-count',
  `update segments set counted_at = :until::timestamptz where project_id = :projectId::uuid
     and id = :segmentId::uuid`,
)

/**
 * Begins the pass that is asked for, or one that has time (`isSlow`), of a revision of a segment: contacts up to
 * `until` are looked at. All ids come after `firstId`. It sees what all have written who began before the segment
 * listened, if they are over.
 */
export const beginPass = statement<
  { projectId: string; segmentId: string; revision: number; isSlow: boolean; until: string; firstId: string },
  { id: string }
>(
  'begin-segment-pass',
  `update segments set pass = greatest(pass_asked, pass + 1), pass_asked = greatest(pass_asked, pass + 1),
     pass_is_slow = :isSlow::boolean, pass_after = :firstId::uuid, pass_until = :until::uuid,
     pass_added = 0, pass_removed = 0,
     listening_xid = case when listening_xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint then listening_xid end
   where project_id = :projectId::uuid and id = :segmentId::uuid and revision = :revision::int returning id`,
)

/** Notes how far the pass of a revision of a segment is, and how many more it has added and removed. */
export const advancePass = statement<
  { projectId: string; segmentId: string; revision: number; after: string; added: number; removed: number },
  { id: string }
>(
  'advance-segment-pass',
  `update segments set pass_after = :after::uuid, pass_added = pass_added + :added::int,
     pass_removed = pass_removed + :removed::int
   where project_id = :projectId::uuid and id = :segmentId::uuid and revision = :revision::int
     and pass_after is not null returning id`,
)

/** Members that the end of a pass counts: of more it takes too long, and the number is left to a count of its own. */
const MAX_COUNTED = 500_000

/**
 * Ends it, and keeps its results beside those of the next pass. Members that are not stored were counted;
 * some of the others may have been deleted meanwhile.
 */
export const endPass = statement<
  { projectId: string; segmentId: string; revision: number; now: Date },
  { id: string }
>(
  'end-segment-pass',
  `update segments set pass_after = null, pass_until = null, troubled_at = null,
     pass_ended = pass, ended_added = pass_added, ended_removed = pass_removed,
     computed_at = case when track_membership then :now::timestamptz end,
     counted_at = :now::timestamptz, member_count = case when not track_membership then pass_added
       when member_count > ${MAX_COUNTED} then member_count
       else (select count(*) from segment_members
         where project_id = :projectId::uuid and segment_id = :segmentId::uuid) end
   where project_id = :projectId::uuid and id = :segmentId::uuid and revision = :revision::int returning id`,
)
