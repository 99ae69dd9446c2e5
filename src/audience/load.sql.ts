import { isKept } from '../db/kept-contacts.sql.ts'
import { type Statement, statement } from '../db/sql.ts'
import type { JsonObject, JsonValue } from '../lib/json.ts'

/**
 * Segments $2 of project $1. `condition` is null where members are a list kept by hand; tracked members of a
 * DYNAMIC segment follow their condition with a delay, so the condition itself is asked. Key: segments_pkey.
 */
export const segmentSources: Statement<{ id: string; condition: JsonValue }> = statement(
  'audience-segment-sources',
  `select id, case when type = 'DYNAMIC' then condition end as condition
   from segments where project_id = $1::uuid and id = any($2::uuid[])`,
)

export type ContactRow = {
  email: string
  subscribed: boolean
  createdAt: Date
  updatedAt: Date
  data: JsonObject
}

/** $1 project, $2 contact. */
export const contactOf: Statement<ContactRow> = statement(
  'audience-contact',
  `select email, subscribed, created_at as "createdAt", updated_at as "updatedAt", data
   from contacts where project_id = $1::uuid and id = $2::uuid and ${isKept('contacts', '$1::uuid')}`,
)

/** The last event of each name $3 of contact $2. Index: events (project_id, contact_id, id). */
export const lastEvents: Statement<{ name: string; at: Date; byPerson: Date | null }> = statement(
  'audience-last-events',
  `select wanted.name, last.at, by_person.at as "byPerson" from unnest($3::text[]) as wanted (name)
   cross join lateral (select created_at as at from events
     where project_id = $1::uuid and contact_id = $2::uuid and name = wanted.name order by id desc limit 1) last
   left join lateral (select created_at as at from events
     where project_id = $1::uuid and contact_id = $2::uuid and name = wanted.name and not data @> '{"bot": true}'
     order by id desc limit 1) by_person on true`,
)

/** Those of the segments $3 that have contact $2 as a stored member. Key: segment_members_pkey. */
export const membershipsOf: Statement<{ id: string }> = statement(
  'audience-memberships',
  `select segment_id as id from segment_members
   where project_id = $1::uuid and contact_id = $2::uuid and segment_id = any($3::uuid[])`,
)
