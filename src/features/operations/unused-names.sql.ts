import { statement } from '../../db/sql.ts'

/*
 * Names that nothing has any more, one project at a time. Whether something has them is asked in subqueries of one row
 * each, which the planner cannot turn into a join with all that there is; those of events have an order, without which
 * it would rather look through the whole table for the first one.
 */

/** Nothing refers to the name of `n`. Index: interests_project_id_kind_name_idx. */
const isUnnamed = (kind: string) => `(select true from interests i
  where i.project_id = :projectId::uuid and i.kind = '${kind}' and i.name = n.name limit 1) is null`

/**
 * Forgets at most `limit` names that have no events and were not tracked since `before`. Indexes:
 * event_names_pkey, events_project_id_name_created_at_contact_id_idx.
 */
export const forgetUnusedEventNames = statement<
  { projectId: string; before: Date; limit: number },
  { name: string }
>(
  'forget-unused-event-names',
  `delete from event_names n using (
     select name from event_names n
     where n.project_id = :projectId::uuid and n.count = 0 and n.seen_at < :before::timestamptz
       and ${isUnnamed('EVENT')}
       and (select e.created_at from events e where e.project_id = :projectId::uuid and e.name = n.name
         order by e.created_at limit 1) is null
     limit :limit::int
   ) unused
   where n.project_id = :projectId::uuid and n.name = unused.name and n.seen_at < :before::timestamptz
     returning n.name`,
)

/** Names of fields that no contact has set since `before`, and nothing refers to. */
export const fieldsNotSeen = statement<{ projectId: string; before: Date; limit: number }, { name: string }>(
  'fields-not-seen',
  `select name from contact_fields n
   where n.project_id = :projectId::uuid and n.seen_at < :before::timestamptz and ${isUnnamed('DATA')}
   order by seen_at, name limit :limit::int`,
)

/** Which of the fields the next contacts after `after` have; no row when there are no more contacts. */
export const fieldsOfContacts = statement<
  { projectId: string; after: string; limit: number; names: string[] },
  { last: string; names: string[] }
>(
  'fields-of-contacts',
  `with page as materialized (
     select id, data from contacts where project_id = :projectId::uuid and id > :after::uuid order by id
       limit :limit::int
   ),
   found as (
     select distinct key from page cross join lateral jsonb_object_keys(data) as key
     join unnest(:names::text[]) as asked (name) on asked.name = key
   )
   select id as last, array(select key from found) as names from page order by id desc limit 1`,
)

/** The fields are in use. */
export const noteFieldsSeen = statement<{ projectId: string; names: string[]; now: Date }>(
  'note-fields-seen',
  `update contact_fields set seen_at = :now::timestamptz where project_id = :projectId::uuid
     and name = any(:names::text[])`,
)

/** Forgets those of the fields that were not set since `before`. */
export const forgetFields = statement<{ projectId: string; names: string[]; before: Date }>(
  'forget-fields',
  `delete from contact_fields
   where project_id = :projectId::uuid and name = any(:names::text[]) and seen_at < :before::timestamptz`,
)
