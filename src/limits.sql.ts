import { type Statement, statement } from './db/sql.ts'

/**
 * Takes `$4` permits of the window that starts at `$3`, whichever process asks; a later window starts from
 * zero. Returns what is used after taking, which may pass the limit: the caller gets the part below it.
 * A process whose clock is behind counts into the window that is already there. Key: limit_windows_pkey.
 */
export const takePermits: Statement<{ used: number; windowStart: Date }> = statement(
  'take-permits',
  `insert into limit_windows as w (project_id, kind, window_start, used)
   values ($1::uuid, $2::limit_kind, $3::timestamptz, $4::int)
   on conflict (project_id, kind) do update set
     used = case when w.window_start >= excluded.window_start then least(w.used::bigint + excluded.used, 2147483647)::int
                 else excluded.used end,
     window_start = greatest(w.window_start, excluded.window_start)
   returning used, window_start as "windowStart"`,
)
