import { type Statement, statement } from '../../db/sql.ts'

/** Projects whose segments have to be looked at by now; $1 shift of the clock, $2 how many. Index: segment_checks_due_at_idx. */
export const projectsToCheck: Statement<{ projectId: string }> = statement(
  'projects-with-segments-to-check',
  `select project_id as "projectId" from segment_checks
   where due_at <= now() + $1::float8 * interval '1 millisecond' order by due_at limit $2::int`,
)

/** Has the segments of project $1 be looked at at once; $2 shift of the clock. */
export const checkNow: Statement<object> = statement(
  'check-segments-now',
  `insert into segment_checks (project_id, due_at, windows_at)
   select $1::uuid, at, at from (select now() + $2::float8 * interval '1 millisecond' as at)
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

/** The state of project $1 and the time; $2 shift of the clock. */
export const checkOf: Statement<CheckRow> = statement(
  'segment-check',
  `select (now() + $2::float8 * interval '1 millisecond')::timestamptz(3) as now, due_at as "dueAt",
     rests_until as "restsUntil", windows_at as "windowsAt", scan_to as "scanTo", scan_after as "scanAfter",
     pg_snapshot_xmin(pg_current_snapshot())::text as "oldestXid"
   from segment_checks where project_id = $1::uuid`,
)

/** Lets project $1 rest until $3 and has it looked at again at $2, unless somebody has asked for it since $4. */
export const restUntil: Statement<object> = statement(
  'rest-segments',
  `update segment_checks set due_at = case when due_at = $4::timestamptz then $2::timestamptz else due_at end,
     rests_until = greatest(rests_until, $3::timestamptz)
   where project_id = $1::uuid`,
)

/** Windows are followed from now on when segment $2 of project $1 is the first that is tracked; $3 shift of the clock. */
export const beginWindows: Statement<object> = statement(
  'begin-segment-windows',
  `update segment_checks set windows_at = now() + $3::float8 * interval '1 millisecond', scan_to = null, scan_after = null
   where project_id = $1::uuid and not exists (select from segments s where s.project_id = $1::uuid and s.id <> $2::uuid
     and s.type = 'DYNAMIC' and s.track_membership)`,
)

/** Notes of project $1 until when windows have been followed ($2), and how far a search goes: to $3, after contact $4. */
export const noteWindows: Statement<object> = statement(
  'note-segment-windows',
  `update segment_checks set windows_at = $2::timestamptz, scan_to = $3::timestamptz, scan_after = $4::uuid
   where project_id = $1::uuid`,
)

/**
 * Asks for a pass over all contacts of segment $2 of project $1 that begins after this, and says which it will be: not
 * the next number, which a segment gets that has changed, so that it is known that somebody waits. A later one does as well.
 */
export const askPass: Statement<{ asked: number }> = statement(
  'ask-segment-pass',
  `update segments set pass_asked = pass + 2 where project_id = $1::uuid and id = $2::uuid
   returning pass_asked as asked`,
)

/** Asks for passes of the segments $2 of project $1 for which nobody waits. */
export const askPasses: Statement<object> = statement(
  'ask-segment-passes',
  `update segments set pass_asked = greatest(pass_asked, pass + 1) where project_id = $1::uuid and id = any($2::uuid[])`,
)

/** Has no part of a pass of segment $2 of project $1 be tried before $3. */
export const holdPass: Statement<object> = statement(
  'hold-segment-pass',
  'update segments set pass_held_until = $3::timestamptz where project_id = $1::uuid and id = $2::uuid',
)

/** Has the members of segment $2 of project $1 be counted as if they had been at $3. */
export const holdCount: Statement<object> = statement(
  'hold-segment-count',
  'update segments set counted_at = $3::timestamptz where project_id = $1::uuid and id = $2::uuid',
)

/**
 * Begins the pass that is asked for, or one that has time ($4), of revision $3 of segment $2 of project $1: contacts up to
 * $5 are looked at. $6: the id that all others come after. It sees what all have written who began before the segment
 * listened, if they are over.
 */
export const beginPass: Statement<{ id: string }> = statement(
  'begin-segment-pass',
  `update segments set pass = greatest(pass_asked, pass + 1), pass_asked = greatest(pass_asked, pass + 1),
     pass_is_slow = $4::boolean, pass_after = $6::uuid, pass_until = $5::uuid, pass_added = 0, pass_removed = 0,
     listening_xid = case when listening_xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint then listening_xid end
   where project_id = $1::uuid and id = $2::uuid and revision = $3::int returning id`,
)

/** Notes how far the pass of revision $3 of segment $2 of project $1 is: after $4, with $5 more added and $6 removed. */
export const advancePass: Statement<{ id: string }> = statement(
  'advance-segment-pass',
  `update segments set pass_after = $4::uuid, pass_added = pass_added + $5::int, pass_removed = pass_removed + $6::int
   where project_id = $1::uuid and id = $2::uuid and revision = $3::int and pass_after is not null returning id`,
)

/** Members that the end of a pass counts: of more it takes too long, and the number is left to a count of its own. */
const MAX_COUNTED = 500_000

/**
 * Ends it, and keeps what it did beside what the next one will do; $4 now. Members that are not stored were counted; of the
 * others some may have been deleted meanwhile.
 */
export const endPass: Statement<{ id: string }> = statement(
  'end-segment-pass',
  `update segments set pass_after = null, pass_until = null, troubled_at = null,
     pass_ended = pass, ended_added = pass_added, ended_removed = pass_removed,
     computed_at = case when track_membership then $4::timestamptz end,
     counted_at = $4::timestamptz, member_count = case when not track_membership then pass_added
       when member_count > ${MAX_COUNTED} then member_count
       else (select count(*) from segment_members where project_id = $1::uuid and segment_id = $2::uuid) end
   where project_id = $1::uuid and id = $2::uuid and revision = $3::int returning id`,
)
