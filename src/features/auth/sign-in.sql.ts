import { type None, shortStatement, statement } from '../../db/sql.ts'

/**
 * Counts an attempt before it is made, so that attempts at the same time are all counted. The window begins anew when it
 * has passed, and with the attempt that uses up the last one: it is locked out for a whole window from then on.
 */
export const noteAttempt = shortStatement<
  { address: string; email: string; now: Date; expired: Date; most: number },
  { failures: number; windowStart: Date }
>(
  'note-sign-in-attempt',
  `insert into sign_in_failures as f (address, email, failures, window_start)
   values (:address, :email, 1, :now::timestamptz)
   on conflict (address, email) do update set
     failures = case when f.window_start <= :expired::timestamptz then 1
       else least(f.failures + 1, :most::int + 1) end,
     window_start = case
       when f.window_start <= :expired::timestamptz or f.failures + 1 = :most::int then :now::timestamptz
       else f.window_start end
   returning failures, window_start as "windowStart"`,
)

/** Any number; two people who sign up first must not both be the first. */
export const lockFirstUser = statement<None>(
  'lock-first-user',
  'select pg_advisory_xact_lock(1836544619)::text',
)
