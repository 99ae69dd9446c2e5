import { type None, statement } from '../../db/sql.ts'

/** The name of trouble that concerns all mail; other troubles have the name of a sender domain. */
export const ALL_MAIL = '*'

/** Mail failed so often in a row, and is tried again after `pauseMs`. */
export const noteTrouble = statement<
  { name: string; reason: string; advice: string; pauseMs: number; failures: number },
  { name: string }
>(
  'note-provider-trouble',
  `insert into provider_troubles (name, reason, advice, since, until, failures)
   values (:name, :reason, :advice, now(), now() + :pauseMs::float8 * interval '1 millisecond', :failures::int)
   on conflict (name) do update set reason = excluded.reason, advice = excluded.advice, until = excluded.until,
     failures = excluded.failures
   returning name`,
)

/** A trouble is over. */
export const forgetTrouble = statement<{ name: string }>(
  'forget-provider-trouble',
  'delete from provider_troubles where name = :name',
)

export type Trouble = { name: string; reason: string; advice: string; since: Date }

/** What keeps mail from leaving now. A worker that has ended no longer says that its trouble is over. */
export const currentTroubles = statement<None, Trouble>(
  'current-provider-troubles',
  `select name, reason, advice, since from provider_troubles
   where until > now() - interval '1 minute' order by name limit 100`,
)
