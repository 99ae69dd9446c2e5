import { type Statement, shortStatement } from './db/sql.ts'

/**
 * Takes `$4` permits of the window that starts at `$3`, whichever process asks; a later window starts from
 * zero. Returns what is used after taking, which may pass the limit: the caller gets the part below it.
 * A process whose clock is behind counts into the window that is already there, unless that starts after
 * `$5`: then it is the clock that made it which is wrong. Key: limit_windows_pkey.
 */
export const takePermits: Statement<{ used: number; windowStart: Date }> = shortStatement(
  'take-permits',
  `insert into limit_windows as w (project_id, kind, window_start, used)
   values ($1::uuid, $2::limit_kind, $3::timestamptz, $4::int)
   on conflict (project_id, kind) do update set
     used = case when w.window_start between excluded.window_start and $5::timestamptz
       then least(w.used::bigint + excluded.used, 2147483647)::int else excluded.used end,
     window_start = case when w.window_start between excluded.window_start and $5::timestamptz
       then w.window_start else excluded.window_start end
   returning used, window_start as "windowStart"`,
)
