import { analyticStatement } from '../../db/sql.ts'
import type { NameCount } from './event-counts.sql.ts'

/**
 * How many contacts had each of the events, `from` up to, without, `to`; of each name at most the last events are
 * looked at, if that is not null.
 */
export const contactsOfEvents = analyticStatement<
  { projectId: string; names: string[]; from: Date; to: Date; looked: number | null },
  NameCount
>(
  `select asked.name, contacts.count::int as count from unnest(:names::text[]) asked (name)
   cross join lateral (
     select count(*) as count from (
       select distinct contact_id from (
         select contact_id from events
         where project_id = :projectId::uuid and name = asked.name
           and created_at >= :from::timestamptz and created_at < :to::timestamptz
         order by created_at desc limit :looked::int) looked) found) contacts`,
)

/** The same of one contact in 32, all events looked at. Index: events_of_some_contacts. */
export const sampleOfEvents = analyticStatement<
  { projectId: string; names: string[]; from: Date; to: Date },
  NameCount
>(
  `select name, count(distinct contact_id)::int as count from events
   where project_id = :projectId::uuid and name = any(:names::text[])
     and created_at >= :from::timestamptz and created_at < :to::timestamptz
     and get_byte(uuid_send(contact_id), 15) < 8
   group by name`,
)

/** How many contacts the project has, at most `most`. */
export const contactsUpTo = analyticStatement<{ projectId: string; most: number }, { count: number }>(
  `select count(*)::int as count from (
     select from contacts where project_id = :projectId::uuid limit :most::int) known`,
)
