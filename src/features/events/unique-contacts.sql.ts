import { analyticStatement, type Statement } from '../../db/sql.ts'
import type { NameCount } from './event-counts.sql.ts'

/**
 * How many contacts of project $1 had each of the events $2, from $3 up to, without, $4; of each name at most the
 * last $5 events are looked at.
 */
export const contactsOfEvents: Statement<NameCount> = analyticStatement(
  `select asked.name, contacts.count::int as count from unnest($2::text[]) asked (name)
   cross join lateral (
     select count(*) as count from (
       select distinct contact_id from (
         select contact_id from events
         where project_id = $1::uuid and name = asked.name
           and created_at >= $3::timestamptz and created_at < $4::timestamptz
         order by created_at desc limit $5::int) looked) found) contacts`,
)

/** The same of one contact in 32, all events looked at. Index: events_of_some_contacts. */
export const sampleOfEvents: Statement<NameCount> = analyticStatement(
  `select name, count(distinct contact_id)::int as count from events
   where project_id = $1::uuid and name = any($2::text[])
     and created_at >= $3::timestamptz and created_at < $4::timestamptz
     and get_byte(uuid_send(contact_id), 15) < 8
   group by name`,
)

/** How many contacts project $1 has, at most $2. */
export const contactsUpTo: Statement<{ count: number }> = analyticStatement(
  `select count(*)::int as count from (
     select from contacts where project_id = $1::uuid limit $2::int) known`,
)
