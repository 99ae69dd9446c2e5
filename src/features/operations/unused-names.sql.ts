import { type Statement, statement } from '../../db/sql.ts'

/*
 * Names that nothing has any more, one project at a time. Whether something has them is asked in subqueries of one row
 * each, which the planner cannot turn into a join with all that there is; those of events have an order, without which
 * it would rather look through the whole table for the first one.
 */

/** Nothing refers to the name of `n`. Index: interests_project_id_kind_name_idx. */
const isUnnamed = (kind: string) => `(select true from interests i
  where i.project_id = $1::uuid and i.kind = '${kind}' and i.name = n.name limit 1) is null`

/**
 * Forgets at most $3 names of project $1 of which there are no events, nor have been tracked since $2. Indexes:
 * event_names_pkey, events_project_id_name_created_at_contact_id_idx.
 */
export const forgetUnusedEventNames: Statement<{ name: string }> = statement(
  'forget-unused-event-names',
  `delete from event_names n using (
     select name from event_names n
     where n.project_id = $1::uuid and n.count = 0 and n.seen_at < $2::timestamptz and ${isUnnamed('EVENT')}
       and (select e.created_at from events e where e.project_id = $1::uuid and e.name = n.name
         order by e.created_at limit 1) is null
     limit $3::int
   ) unused
   where n.project_id = $1::uuid and n.name = unused.name and n.seen_at < $2::timestamptz returning n.name`,
)

/** At most $3 names of fields of project $1 that no contact has set since $2, and nothing refers to. */
export const fieldsNotSeen: Statement<{ name: string }> = statement(
  'fields-not-seen',
  `select name from contact_fields n
   where n.project_id = $1::uuid and n.seen_at < $2::timestamptz and ${isUnnamed('DATA')}
   order by seen_at, name limit $3::int`,
)

/** Which of the fields $4 the next $3 contacts of project $1 after $2 have; no row when there are no more contacts. */
export const fieldsOfContacts: Statement<{ last: string; names: string[] }> = statement(
  'fields-of-contacts',
  `with page as materialized (
     select id, data from contacts where project_id = $1::uuid and id > $2::uuid order by id limit $3::int
   ),
   found as (
     select distinct key from page cross join lateral jsonb_object_keys(data) as key
     join unnest($4::text[]) as asked (name) on asked.name = key
   )
   select id as last, array(select key from found) as names from page order by id desc limit 1`,
)

/** The fields $2 of project $1 are in use at $3. */
export const noteFieldsSeen: Statement<object> = statement(
  'note-fields-seen',
  `update contact_fields set seen_at = $3::timestamptz where project_id = $1::uuid and name = any($2::text[])`,
)

/** Forgets those of the fields $2 of project $1 that nobody has set since $3. */
export const forgetFields: Statement<object> = statement(
  'forget-fields',
  `delete from contact_fields
   where project_id = $1::uuid and name = any($2::text[]) and seen_at < $3::timestamptz`,
)
