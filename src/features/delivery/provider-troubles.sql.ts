import { type Statement, statement } from '../../db/sql.ts'

/** The name of trouble that concerns all mail; other troubles have the name of a sender domain. */
export const ALL_MAIL = '*'

/** $1 name, $2 reason, $3 advice, $4 milliseconds until mail is tried again, $5 how often in a row it failed. */
export const noteTrouble: Statement<{ name: string }> = statement(
  'note-provider-trouble',
  `insert into provider_troubles (name, reason, advice, since, until, failures)
   values ($1, $2, $3, now(), now() + $4::float8 * interval '1 millisecond', $5::int)
   on conflict (name) do update set reason = excluded.reason, advice = excluded.advice, until = excluded.until,
     failures = excluded.failures
   returning name`,
)

/** The trouble $1 is over. */
export const forgetTrouble: Statement<object> = statement(
  'forget-provider-trouble',
  'delete from provider_troubles where name = $1',
)

export type Trouble = { name: string; reason: string; advice: string; since: Date }

/** What keeps mail from leaving now. A worker that has ended no longer says that its trouble is over. */
export const currentTroubles: Statement<Trouble> = statement(
  'current-provider-troubles',
  `select name, reason, advice, since from provider_troubles
   where until > now() - interval '1 minute' order by name limit 100`,
)
