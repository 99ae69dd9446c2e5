import { isIdKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement, type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { Event } from '../../generated/prisma/client.ts'

const eventColumns = (alias: string) =>
  `${alias}.project_id as "projectId", ${alias}.id, ${alias}.contact_id as "contactId", ${alias}.name,
   ${alias}.email_id as "emailId", ${alias}.data, ${alias}.created_at as "createdAt"`

/**
 * Pages of events of contacts of project $1, the newest first: for each of the contacts $2 those below the id $3,
 * at most $4; `page` says which, from 0. Index: events_project_id_contact_id_id_idx.
 */
export const eventsOfContacts: Statement<Event & { page: number }> = statement(
  'events-of-contacts',
  `select (asked.page - 1)::int as page, found.* from
     unnest($2::uuid[], $3::uuid[], $4::int[]) with ordinality as asked (contact_id, before, size, page)
   cross join lateral (
     select ${eventColumns('e')} from events e
     where e.project_id = $1::uuid and e.contact_id = asked.contact_id and e.id < asked.before
     order by e.id desc limit asked.size) found
   order by asked.page, found.id desc`,
)

/** How many events each of the contacts $2 of project $1 has, if any. */
export const eventCounts: Statement<{ contactId: string; count: number }> = analyticStatement(
  `select contact_id as "contactId", count(*)::int as count from events
   where project_id = $1::uuid and contact_id = any($2::uuid[]) group by contact_id`,
)

/** How many events contact $2 of project $1 has, of name $3 if it is not null. */
export const countOfContact: Statement<{ count: number }> = analyticStatement(
  `select count(*)::int as count from events e
   where e.project_id = $1::uuid and e.contact_id = $2::uuid and ($3::text is null or e.name = $3)`,
)

export type EventFilter = { name: string | null; contactId: string | null }

/**
 * At most `limit` events of a project with ids below `before`, the newest first. Times and ids have the same
 * order, so a list of one name walks events_project_id_name_created_at_contact_id_idx; one of a contact walks
 * events_project_id_contact_id_id_idx, and one of all the primary key.
 */
export function eventPage(
  projectId: string,
  { name, contactId }: EventFilter,
  before: { id: string; time: Date } | null,
  limit: number,
): { statement: Statement<Event>; values: unknown[] } {
  const byTime = name !== null && contactId === null
  const values: unknown[] = [projectId, limit]
  const where = ['e.project_id = $1::uuid', isIdKept('e.contact_id', '$1::uuid')]
  if (name !== null) where.push(`e.name = $${values.push(name)}`)
  if (contactId !== null) where.push(`e.contact_id = $${values.push(contactId)}::uuid`)
  if (before) where.push(`e.id < $${values.push(before.id)}::uuid`)
  if (before && byTime) where.push(`e.created_at <= $${values.push(before.time)}::timestamptz`)
  const order = byTime ? 'e.created_at desc, e.id desc' : 'e.id desc'
  const text = `select ${eventColumns('e')} from events e where ${where.join(' and ')}
    order by ${order} limit $2::int`
  return { statement: unpreparedStatement(text), values }
}
