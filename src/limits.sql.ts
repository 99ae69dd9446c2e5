import { type Statement, shortStatement } from './db/sql.ts'

/** `used` and `publicUsed` may pass what is allowed: the caller gets the part below it. */
export type UsedPermits = { used: number; publicUsed: number; windowStart: Date }

/** Of `$4` permits, those that the share `$6` of the public key leaves; all of them for others. */
const permitted = (publicUsed: string) =>
  `case when $6::int is null then $4::int else least($4::int, greatest(0, $6::int - ${publicUsed})) end`

const IS_SAME_WINDOW = 'w.window_start between excluded.window_start and $5::timestamptz'

/**
 * Takes `$4` permits of the window that starts at `$3`, whichever process asks; a later window starts from
 * zero. With a share `$6` they are for the public key, which has at most so many of the window, and what it asks for
 * above is taken from nobody. Returns what is used after taking.
 * A process whose clock is behind counts into the window that is already there, unless that starts after
 * `$5`: then it is the clock that made it which is wrong. Key: limit_windows_pkey.
 */
export const takePermits: Statement<UsedPermits> = shortStatement(
  'take-permits',
  `insert into limit_windows as w (project_id, kind, window_start, used, public_used)
   values ($1::uuid, $2::limit_kind, $3::timestamptz, ${permitted('0')}, case when $6::int is null then 0 else $4::int end)
   on conflict (project_id, kind) do update set
     used = case when ${IS_SAME_WINDOW}
       then least(w.used::bigint + ${permitted('w.public_used')}, 2147483647)::int else excluded.used end,
     public_used = case when ${IS_SAME_WINDOW}
       then least(w.public_used::bigint + excluded.public_used, 2147483647)::int else excluded.public_used end,
     window_start = case when ${IS_SAME_WINDOW} then w.window_start else excluded.window_start end
   returning used, public_used as "publicUsed", window_start as "windowStart"`,
)
