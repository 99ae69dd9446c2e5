import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { ContactCondition } from './contact-list.sql.ts'
import { PROJECT_TRACKS } from './upsert-contact.sql.ts'

/**
 * Sets `subscribed` to $4 for the contacts $2 of project $1 and records the changes as events with the ids $3;
 * $5 now. There is a row for each contact that there is, and says whether it was changed.
 */
export const subscribeMany: Statement<{ id: string; changed: boolean }> = statement(
  'subscribe-many',
  `with asked as (select * from unnest($2::uuid[], $3::uuid[]) as given (id, event_id)),
   known as (
     select c.id, asked.event_id, c.subscribed from contacts c join asked on asked.id = c.id
     where c.project_id = $1::uuid order by c.id for update of c
   ),
   changed as (
     update contacts c set subscribed = $4::boolean, subscription_event_id = known.event_id,
       updated_at = $5::timestamptz
     from known where c.project_id = $1::uuid and c.id = known.id and c.subscribed <> $4::boolean
     returning c.project_id, c.id, known.event_id
   ),
   event as (
     insert into events (project_id, id, contact_id, name, data, created_at)
     select project_id, event_id, id,
       case when $4::boolean then 'contact.subscribed' else 'contact.unsubscribed' end,
       '{"source": "bulk"}', $5::timestamptz
     from changed
   ),
   followed as (
     insert into contact_changes (project_id, id, contact_id)
     select project_id, event_id, id from changed where ${PROJECT_TRACKS}
   )
   select known.id, changed.id is not null as changed from known left join changed on changed.id = known.id`,
)

/** Ids of contacts of a project that a condition lets through: after one id and up to another, in their order. */
export function matchingIds(
  projectId: string,
  condition: ContactCondition,
  range: { after: string | null; last: string; limit: number },
): { statement: Statement<{ id: string }>; values: unknown[] } {
  const { text, values } = condition(5)
  return {
    statement: unpreparedStatement(
      `select c.id from contacts c
       where c.project_id = $1::uuid and ($2::uuid is null or c.id > $2::uuid) and c.id < $3::uuid and ${text}
       order by c.id limit $4::int`,
    ),
    values: [projectId, range.after, range.last, range.limit, ...values],
  }
}
