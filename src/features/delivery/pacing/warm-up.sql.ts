import { DATABASE_NOW } from '../../../db/database-clock.ts'
import { statement } from '../../../db/sql.ts'

const UTC_NOW = `(${DATABASE_NOW} at time zone 'utc')`

/** How many messages the warm-up of a domain allows today; null without one, and outside of its days. */
export const limitOfToday = (domain: string): string =>
  `${domain}.warm_up[${UTC_NOW}::date - ${domain}.warm_up_from + 1]`

/** The schedule of a domain as a text, to tell whether it is the same. */
export const scheduleText = (domain: string): string =>
  `concat(${domain}.warm_up_from, ' ', ${domain}.warm_up)`

/** How many of `wanted` may leave when so many have on this day. */
const granted = (sent: string): string =>
  `least(:wanted::int, greatest(0, (select most from schedule) - :unheld::int - ${sent}))`

export type WarmUpDay = {
  granted: number
  /** "2030-05-01", in UTC. */
  day: string
  /** The schedule, to tell whether it is the same. */
  text: string
  /** Messages on each of its days, and which of them is today, from 0 on. */
  limits: number[]
  index: number
  /** Milliseconds until midnight. */
  leftMs: number
}

/**
 * Counts messages of a sender domain that are about to leave: `unheld` in any case, and of `wanted` as many as the day of
 * its warm-up leaves room for. The row of the day is locked until the commit of this statement alone. No row: the domain has
 * no warm-up, or it is over. Keys: domains_domain_key, warm_up_days_pkey.
 */
export const takeWarmUpPermits = statement<
  { clockShift: number; projectId: string; domain: string; unheld: number; wanted: number },
  WarmUpDay
>(
  'take-warm-up-permits',
  `with schedule as materialized (
     select d.project_id, d.domain, ${UTC_NOW}::date as day, d.warm_up as limits, ${UTC_NOW}::date - d.warm_up_from as index,
       ${limitOfToday('d')} as most, ${scheduleText('d')} as text,
       (1000 * extract(epoch from ${UTC_NOW}::date + 1 - ${UTC_NOW}))::float8 as left_ms
     from domains d where d.project_id = :projectId::uuid and d.domain = :domain
   ),
   counted as (
     insert into warm_up_days as w (project_id, domain, day, sent, granted)
     select project_id, domain, day, :unheld::int + ${granted('0')}, ${granted('0')}
     from schedule where most is not null
     on conflict (project_id, domain, day) do update set sent = w.sent + :unheld::int + ${granted('w.sent')},
       granted = ${granted('w.sent')}
     returning granted
   )
   select counted.granted, day::text, text, limits, index, left_ms as "leftMs" from counted, schedule`,
)

/** Counts a message no more that has not left after all. Key: warm_up_days_pkey. */
export const giveWarmUpPermitBack = statement<{ projectId: string; domain: string; day: string }>(
  'give-warm-up-permit-back',
  `update warm_up_days set sent = greatest(0, sent - 1)
   where project_id = :projectId::uuid and domain = :domain and day = :day::date`,
)
