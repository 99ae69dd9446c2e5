import { shortStatement } from '../db/sql.ts'
import type { LimitKind } from '../generated/prisma/enums.ts'

/** `used` and `publicUsed` may pass what is allowed: the caller gets the part below it. */
export type UsedPermits = { used: number; publicUsed: number; windowStart: Date }

/** The wanted permits that the share of the public key leaves; all of them for others. */
const permitted = (publicUsed: string) =>
  `case when :publicShare::int is null then :wanted::int
     else least(:wanted::int, greatest(0, :publicShare::int - ${publicUsed})) end`

const IS_SAME_WINDOW = 'w.window_start between excluded.window_start and :latest::timestamptz'

/**
 * Takes permits of the window that starts at `windowStart`, whichever process asks; a later window starts
 * from zero. With a share they are for the public key, which has at most this many of the window; refused
 * permits are not counted. Returns the used permits after taking. A process whose clock is behind counts into
 * the existing window, unless that starts after `latest`: then the clock that created it is wrong. Key:
 * limit_windows_pkey.
 */
export const takePermits = shortStatement<
  {
    projectId: string
    kind: LimitKind
    windowStart: Date
    wanted: number
    latest: Date
    publicShare: number | null
  },
  UsedPermits
>(
  'take-permits',
  `insert into limit_windows as w (project_id, kind, window_start, used, public_used)
   values (:projectId::uuid, :kind::limit_kind, :windowStart::timestamptz, ${permitted('0')},
     case when :publicShare::int is null then 0 else :wanted::int end)
   on conflict (project_id, kind) do update set
     used = case when ${IS_SAME_WINDOW}
       then least(w.used::bigint + ${permitted('w.public_used')}, 2147483647)::int else excluded.used end,
     public_used = case when ${IS_SAME_WINDOW}
       then least(w.public_used::bigint + excluded.public_used, 2147483647)::int else excluded.public_used end,
     window_start = case when ${IS_SAME_WINDOW} then w.window_start else excluded.window_start end
   returning used, public_used as "publicUsed", window_start as "windowStart"`,
)
