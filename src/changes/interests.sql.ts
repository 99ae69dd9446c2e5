import { type Statement, statement } from '../db/sql.ts'

/**
 * Held by whoever changes, of project $1, what refers to what: what he has found out, that something is not used or
 * that there is no circle, stays true until he is done.
 */
export const lockInterests: Statement<{ id: string }> = statement(
  'lock-interests',
  'select id from projects where id = $1::uuid for no key update',
)

/**
 * Makes the interests of consumer $2 with id $3 of project $1 those with the kinds $4 and names $5; $6 says which of
 * them listen. Key: interests_pkey.
 */
export const writeInterests: Statement<object> = statement(
  'write-interests',
  `with wanted as (
     select distinct on (kind, name) * from unnest($4::interest_kind[], $5::text[], $6::boolean[]) as w (kind, name, listens)
     order by kind, name, listens desc
   ),
   dropped as (
     delete from interests i where i.project_id = $1::uuid and i.consumer = $2::consumer and i.consumer_id = $3::uuid
       and not exists (select from wanted w where w.kind = i.kind and w.name = i.name)
   )
   insert into interests as i (project_id, consumer, consumer_id, kind, name, listens)
   select $1::uuid, $2::consumer, $3::uuid, kind, name, listens from wanted
   on conflict (project_id, consumer, consumer_id, kind, name) do update set listens = excluded.listens
   where i.listens <> excluded.listens`,
)

/**
 * Those of the events $2 and keys of data $3 that are being deleted in project $1. Keys: event_deletions_pkey,
 * contact_field_deletions_pkey.
 */
export const namesBeingDeleted: Statement<{ name: string }> = statement(
  'names-being-deleted',
  `select name from event_deletions where project_id = $1::uuid and name = any($2::text[])
   union all
   select 'data.' || name from contact_field_deletions
   where project_id = $1::uuid and name = any($3::text[]) and completed_at is null limit 1`,
)

/**
 * Has the conditions of segments of project $1 listen that a tracked one is made of: its own and those of the segments
 * that it names, directly or through others. Key: interests_pkey.
 */
export const spreadListening: Statement<object> = statement(
  'spread-listening',
  `with recursive listening as (
     select id from segments where project_id = $1::uuid and type = 'DYNAMIC' and track_membership
     union
     select i.name::uuid from listening l
     join interests i on i.project_id = $1::uuid and i.consumer = 'SEGMENT' and i.consumer_id = l.id and i.kind = 'SEGMENT'
   )
   update interests i set listens = not i.listens
   where i.project_id = $1::uuid and i.consumer = 'SEGMENT'
     and i.listens <> exists (select from listening l where l.id = i.consumer_id)`,
)

export type User = { consumer: 'SEGMENT' | 'CAMPAIGN' | 'WORKFLOW'; id: string; name: string }

/**
 * Segments, campaigns and workflows of project $1 that refer to one of the names $3 of kind $2, in the order in which
 * they were made. Index: interests_project_id_kind_name_idx.
 */
export const usersOf: Statement<User> = statement(
  'users-of-interest',
  `with used as (
     select distinct consumer, consumer_id as id from interests
     where project_id = $1::uuid and kind = $2::interest_kind and name = any($3::text[])
   )
   select used.consumer, used.id, coalesce(s.name, c.name, w.name) as name
   from used
   left join segments s on used.consumer = 'SEGMENT' and s.project_id = $1::uuid and s.id = used.id
   left join campaigns c on used.consumer = 'CAMPAIGN' and c.project_id = $1::uuid and c.id = used.id
   left join workflows w on used.consumer = 'WORKFLOW' and w.project_id = $1::uuid and w.id = used.id
   where coalesce(s.name, c.name, w.name) is not null
   order by used.id`,
)
