import { statement } from '../db/sql.ts'
import type { Consumer, InterestKind } from '../generated/prisma/enums.ts'

/**
 * Locks what refers to what in the project. What the holder finds out, that something is not used or that
 * there is no circle, stays true until its transaction ends.
 */
export const lockInterests = statement<{ projectId: string }, { id: string }>(
  'lock-interests',
  'select id from projects where id = :projectId::uuid for no key update',
)

/**
 * Replaces the interests of a consumer by the kinds and names given; `listening` says which of them listen.
 * Key: interests_pkey.
 */
export const writeInterests = statement<{
  projectId: string
  consumer: Consumer
  consumerId: string
  kinds: InterestKind[]
  names: string[]
  listening: boolean[]
}>(
  'write-interests',
  `with wanted as (
     select distinct on (kind, name) *
     from unnest(:kinds::interest_kind[], :names::text[], :listening::boolean[]) as w (kind, name, listens)
     order by kind, name, listens desc
   ),
   dropped as (
     delete from interests i where i.project_id = :projectId::uuid and i.consumer = :consumer::consumer
       and i.consumer_id = :consumerId::uuid
       and not exists (select from wanted w where w.kind = i.kind and w.name = i.name)
   )
   insert into interests as i (project_id, consumer, consumer_id, kind, name, listens)
   select :projectId::uuid, :consumer::consumer, :consumerId::uuid, kind, name, listens from wanted
   on conflict (project_id, consumer, consumer_id, kind, name) do update set listens = excluded.listens
   where i.listens <> excluded.listens`,
)

/**
 * Those of the events and keys of data that are being deleted. Keys: event_deletions_pkey,
 * contact_field_deletions_pkey.
 */
export const namesBeingDeleted = statement<
  { projectId: string; events: string[]; dataKeys: string[] },
  { name: string }
>(
  'names-being-deleted',
  `select name from event_deletions where project_id = :projectId::uuid and name = any(:events::text[])
   union all
   select 'data.' || name from contact_field_deletions
   where project_id = :projectId::uuid and name = any(:dataKeys::text[]) and completed_at is null limit 1`,
)

/**
 * Makes the conditions listen that a tracked segment depends on: its own, and those of the segments that it
 * names, directly or through others. Key: interests_pkey.
 */
export const spreadListening = statement<{ projectId: string }>(
  'spread-listening',
  `with recursive listening as (
     select id from segments where project_id = :projectId::uuid and type = 'DYNAMIC' and track_membership
     union
     select i.name::uuid from listening l
     join interests i on i.project_id = :projectId::uuid and i.consumer = 'SEGMENT' and i.consumer_id = l.id
       and i.kind = 'SEGMENT'
   )
   update interests i set listens = not i.listens
   where i.project_id = :projectId::uuid and i.consumer = 'SEGMENT'
     and i.listens <> exists (select from listening l where l.id = i.consumer_id)`,
)

export type User = { consumer: 'SEGMENT' | 'CAMPAIGN' | 'WORKFLOW'; id: string; name: string }

/**
 * Segments, campaigns and workflows that refer to one of the names of a kind, in the order of their creation.
 * Index: interests_project_id_kind_name_idx.
 */
export const usersOf = statement<{ projectId: string; kind: InterestKind; names: string[] }, User>(
  'users-of-interest',
  `with used as (
     select distinct consumer, consumer_id as id from interests
     where project_id = :projectId::uuid and kind = :kind::interest_kind and name = any(:names::text[])
   )
   select used.consumer, used.id, coalesce(s.name, c.name, w.name) as name
   from used
   left join segments s on used.consumer = 'SEGMENT' and s.project_id = :projectId::uuid and s.id = used.id
   left join campaigns c on used.consumer = 'CAMPAIGN' and c.project_id = :projectId::uuid and c.id = used.id
   left join workflows w on used.consumer = 'WORKFLOW' and w.project_id = :projectId::uuid and w.id = used.id
   where coalesce(s.name, c.name, w.name) is not null
   order by used.id`,
)
