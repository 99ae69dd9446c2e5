import type { Predicate, PredicateParams } from '../../audience/compile.sql.ts'
import { timeChanges } from '../../changes/changes.sql.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'

/** Conditions of tracked segments that depend on time. Index: interests_listening. */
export const timedConditions = statement<{ projectId: string }, { condition: JsonValue }>(
  'timed-conditions',
  `select condition from segments s
   where project_id = :projectId::uuid and type = 'DYNAMIC' and condition::text like '%"unit"%'
     and troubled_at is null
     and exists (select from interests i where i.project_id = :projectId::uuid and i.consumer = 'SEGMENT'
       and i.consumer_id = s.id and i.listens)`,
)

type Noted = { count: number }

/**
 * Contacts with an event of a name between two times (arrays). Index:
 * events_project_id_name_created_at_contact_id_idx.
 */
export const eventsPassed = unpreparedStatement<
  { projectId: string; now: Date; names: string[]; since: Date[]; before: Date[] },
  Noted
>(
  timeChanges(
    `select distinct e.contact_id, e.name, '{}'::text[] as keys
     from unnest(:names::text[], :since::timestamptz[], :before::timestamptz[]) as w (name, since, before)
     join events e on e.project_id = :projectId::uuid and e.name = w.name and e.created_at >= w.since
       and e.created_at < w.before`,
  ),
)

/** Contacts created between two times, whose ids are between two others (arrays). Key: contacts_pkey. */
export const contactsAged = unpreparedStatement<
  { projectId: string; now: Date; since: Date[]; before: Date[]; firstIds: string[]; lastIds: string[] },
  Noted
>(
  timeChanges(
    `select distinct c.id as contact_id, null::text as name, array['createdAt'] as keys
     from unnest(:since::timestamptz[], :before::timestamptz[], :firstIds::uuid[], :lastIds::uuid[])
       as w (since, before, first, last)
     join contacts c on c.project_id = :projectId::uuid and c.id >= w.first and c.id <= w.last
       and c.created_at >= w.since and c.created_at < w.before and ${isKept('c')}`,
  ),
)

type PartParams = { projectId: string; now: Date; after: string; until: string; keys: string[] }

/** Contacts between two ids that fulfil a condition; `keys` names what to look at of them. */
export const contactsPassed = (condition: Predicate) =>
  unpreparedStatement<PartParams & PredicateParams, Noted>(
    timeChanges(
      `select c.id as contact_id, null::text as name, :keys::text[] as keys from contacts c
       where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid
         and ${condition.text}`,
    ),
  )
