import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { ContactCondition } from './contact-list.sql.ts'

/**
 * Sets `subscribed` to $4 for the contacts $2 of project $1 and records the changes as events with the ids $3;
 * $5 now. There is a row for each contact that there is, and says whether it was changed.
 */
export const subscribeMany: Statement<{ id: string; changed: boolean; heard: boolean }> = statement(
  'subscribe-many',
  `with asked as (select * from unnest($2::uuid[], $3::uuid[]) as given (id, event_id)),
   known as (
     select c.id, asked.event_id, c.subscribed from contacts c join asked on asked.id = c.id
     where c.project_id = $1::uuid and c.email not like '${ERASED}%' order by c.id for update of c
   ),
   changed as (
     update contacts c set subscribed = $4::boolean, subscription_event_id = known.event_id,
       updated_at = $5::timestamptz
     from known where c.project_id = $1::uuid and c.id = known.id and c.subscribed <> $4::boolean
     returning c.project_id, c.id, known.event_id, c.subscribed
   ),
   ${subscriptionCtes(`'bulk'`, '$5')}
   select known.id, changed.id is not null as changed, ${heard('heard_event')} as heard from known left join changed on changed.id = known.id`,
)

/** The last contact of project $1, in the order of ids. */
export const newestContact: Statement<{ id: string }> = statement(
  'newest-contact',
  'select id from contacts where project_id = $1::uuid order by id desc limit 1',
)

/** Ids of contacts of project $1 after $2 and up to $3, at most $4, in their order. */
export const pageOfIds: Statement<{ id: string }> = statement(
  'page-of-contact-ids',
  `select id from contacts
   where project_id = $1::uuid and ($2::uuid is null or id > $2::uuid) and id <= $3::uuid order by id limit $4::int`,
)

/** Ids of contacts of a project that a condition lets through, from the first to the last one, in their order. */
export function matchingIds(
  projectId: string,
  condition: ContactCondition,
  range: { first: string; last: string; limit: number },
): { statement: Statement<{ id: string }>; values: unknown[] } {
  const { text, values } = condition(5)
  return {
    statement: unpreparedStatement(
      `select c.id from contacts c
       where c.project_id = $1::uuid and c.id >= $2::uuid and c.id <= $3::uuid and ${text}
       order by c.id limit $4::int`,
    ),
    values: [projectId, range.first, range.last, range.limit, ...values],
  }
}
