import { isIdKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement, unpreparedStatement } from '../../db/sql.ts'
import type { Event } from '../../generated/prisma/client.ts'
import { listsOfContacts } from '../../paging/lists-of-contacts.sql.ts'

const eventColumns = (alias: string) =>
  `${alias}.project_id as "projectId", ${alias}.id, ${alias}.contact_id as "contactId", ${alias}.name,
   ${alias}.email_id as "emailId", ${alias}.data, ${alias}.created_at as "createdAt"`

/** The events that contacts have. */
export const contactEvents = listsOfContacts<Event>('events', eventColumns('r'), analyticStatement)

/** How many events a contact has, of a name if it is not null. */
export const countOfContact = analyticStatement<
  { projectId: string; contactId: string; name: string | null },
  { count: number }
>(
  `select count(*)::int as count from events e
   where e.project_id = :projectId::uuid and e.contact_id = :contactId::uuid
     and (:name::text is null or e.name = :name)`,
)

export type EventsAsked = {
  projectId: string
  /** null: all of them. */
  name: string | null
  contactId: string | null
  /** The id of an event and its time; null: from the newest on. */
  before: string | null
  beforeTime: Date | null
  limit: number
}

/**
 * At most `limit` events with ids below `before`, the newest first. Times and ids have the same
 * order, so a list of one name walks events_project_id_name_created_at_contact_id_idx; one of a contact walks
 * events_project_id_contact_id_id_idx, and one of all the primary key.
 */
export function eventPage({ name, contactId, before }: EventsAsked) {
  const byTime = name !== null && contactId === null
  const where = ['e.project_id = :projectId::uuid', isIdKept('e.contact_id')]
  if (name !== null) where.push('e.name = :name')
  if (contactId !== null) where.push('e.contact_id = :contactId::uuid')
  if (before !== null) where.push('e.id < :before::uuid')
  if (before !== null && byTime) where.push('e.created_at <= :beforeTime::timestamptz')
  const order = byTime ? 'e.created_at desc, e.id desc' : 'e.id desc'
  return unpreparedStatement<EventsAsked, Event>(
    `select ${eventColumns('e')} from events e where ${where.join(' and ')} order by ${order}
       limit :limit::int`,
  )
}
