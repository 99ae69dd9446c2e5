import type { Predicate } from '../../audience/compile.sql.ts'
import { timeChanges } from '../../changes/changes.sql.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'

/** Conditions of project $1 that a tracked segment is made of and that depend on time. Index: interests_listening. */
export const timedConditions: Statement<{ condition: JsonValue }> = statement(
  'timed-conditions',
  `select condition from segments s
   where project_id = $1::uuid and type = 'DYNAMIC' and condition::text like '%"unit"%' and troubled_at is null
     and exists (select from interests i where i.project_id = $1::uuid and i.consumer = 'SEGMENT'
       and i.consumer_id = s.id and i.listens)`,
)

type Noted = { count: number }

/**
 * Contacts of project $1 with an event of a name $3 between $4 and $5 (arrays). Index:
 * events_project_id_name_created_at_contact_id_idx.
 */
export const eventsPassed: Statement<Noted> = unpreparedStatement(
  timeChanges(
    `select distinct e.contact_id, e.name, '{}'::text[] as keys
     from unnest($3::text[], $4::timestamptz[], $5::timestamptz[]) as w (name, since, before)
     join events e on e.project_id = $1::uuid and e.name = w.name and e.created_at >= w.since and e.created_at < w.before`,
  ),
)

/** Contacts of project $1 made between $3 and $4 (arrays), whose ids are between $5 and $6. Key: contacts_pkey. */
export const contactsAged: Statement<Noted> = unpreparedStatement(
  timeChanges(
    `select distinct c.id as contact_id, null::text as name, array['createdAt'] as keys
     from unnest($3::timestamptz[], $4::timestamptz[], $5::uuid[], $6::uuid[]) as w (since, before, first, last)
     join contacts c on c.project_id = $1::uuid and c.id >= w.first and c.id <= w.last
       and c.created_at >= w.since and c.created_at < w.before and ${isKept('c', '$1::uuid')}`,
  ),
)

/** Of the contacts of project $1 between $3 and $4 those that a condition has; $5 what of them to look at. */
export const contactsPassed = (condition: Predicate): Statement<Noted> =>
  unpreparedStatement(
    timeChanges(
      `select c.id as contact_id, null::text as name, $5::text[] as keys from contacts c
       where c.project_id = $1::uuid and c.id > $3::uuid and c.id <= $4::uuid and ${condition.text}`,
    ),
  )
