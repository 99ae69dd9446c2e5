import { isKept } from '../db/kept-contacts.sql.ts'
import { statement } from '../db/sql.ts'
import type { JsonObject, JsonValue } from '../lib/json.ts'

/**
 * Segments by their ids. `condition` is null where members are a list kept by hand; tracked members of a
 * DYNAMIC segment follow their condition with a delay, so the condition itself is asked. Key: segments_pkey.
 */
export const segmentSources = statement<
  { projectId: string; ids: string[] },
  { id: string; condition: JsonValue }
>(
  'audience-segment-sources',
  `select id, case when type = 'DYNAMIC' then condition end as condition
   from segments where project_id = :projectId::uuid and id = any(:ids::uuid[])`,
)

export type ContactRow = {
  email: string
  subscribed: boolean
  createdAt: Date
  updatedAt: Date
  data: JsonObject
}

/** Contacts by their ids. Key: contacts_pkey. */
export const subjectsOf = statement<{ projectId: string; ids: string[] }, ContactRow & { id: string }>(
  'audience-contacts',
  `select id, email, subscribed, created_at as "createdAt", updated_at as "updatedAt", data
   from contacts where project_id = :projectId::uuid and id = any(:ids::uuid[]) and ${isKept('contacts')}`,
)

/**
 * All events of a contact with at most so many are read; above, each name's last events are looked up from
 * the newest.
 */
const FEW_EVENTS = 100

/**
 * Ids follow the clocks of the processes that created them: the latest event of a name is among the newest
 * ids.
 */
const NEWEST = 10

/** The last events of some names of contacts. Index: events (project_id, contact_id, id). */
export const lastEventsOf = statement<
  { projectId: string; contactIds: string[]; names: string[] },
  { contactId: string; name: string; at: Date; byPerson: Date | null }
>(
  'audience-last-events',
  `with asked as materialized (
       select id, (select count(*) from (select from events e where e.project_id = :projectId::uuid
         and e.contact_id = asked.id
         limit ${FEW_EVENTS + 1}) few) > ${FEW_EVENTS} as has_many
       from unnest(:contactIds::uuid[]) as asked (id)
     )
     select e.contact_id as "contactId", e.name, max(e.created_at) as at,
       max(e.created_at) filter (where not e.data @> '{"bot": true}') as "byPerson"
     from events e where e.project_id = :projectId::uuid
       and e.contact_id = any(array(select id from asked where not has_many))
       and e.name = any(:names::text[])
     group by e.contact_id, e.name
     union all
     select asked.id, wanted.name, last.at, by_person.at
     from asked cross join unnest(:names::text[]) as wanted (name)
     cross join lateral (select max(created_at) as at from (
       select e.created_at from events e
       where e.project_id = :projectId::uuid and e.contact_id = asked.id and e.name = wanted.name
       order by e.id desc limit ${NEWEST}) newest) last
     cross join lateral (select max(created_at) as at from (
       select e.created_at from events e
       where e.project_id = :projectId::uuid and e.contact_id = asked.id and e.name = wanted.name
         and not e.data @> '{"bot": true}'
       order by e.id desc limit ${NEWEST}) newest) by_person
     where asked.has_many and last.at is not null`,
)

/** Which of the segments have the contacts as stored members. Key: segment_members_pkey. */
export const membershipsOf = statement<
  { projectId: string; contactIds: string[]; segmentIds: string[] },
  { contactId: string; segmentIds: string[] }
>(
  'audience-memberships',
  `select contact_id as "contactId", array_agg(segment_id::text) as "segmentIds" from segment_members
   where project_id = :projectId::uuid and contact_id = any(:contactIds::uuid[])
     and segment_id = any(:segmentIds::uuid[])
   group by contact_id`,
)
