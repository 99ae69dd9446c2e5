import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { statement, unpreparedStatement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import type { ContactCondition } from '../contacts/contact-filter.ts'

/**
 * Sets `subscribed` for contacts and records the changes as events with the ids `eventIds`. Returns a row for
 * each existing contact, which says whether it was changed.
 */
export const subscribeMany = statement<
  { projectId: string; ids: string[]; eventIds: string[]; subscribed: boolean; now: Date },
  { id: string; changed: boolean; heard: Consumer[] }
>(
  'subscribe-many',
  `with asked as (select * from unnest(:ids::uuid[], :eventIds::uuid[]) as given (id, event_id)),
   known as (
     select c.id, asked.event_id, c.subscribed from contacts c join asked on asked.id = c.id
     where c.project_id = :projectId::uuid and c.email not like '${ERASED}%' order by c.id for update of c
   ),
   changed as (
     update contacts c set subscribed = :subscribed::boolean, subscription_event_id = known.event_id,
       updated_at = :now::timestamptz
     from known where c.project_id = :projectId::uuid and c.id = known.id
       and c.subscribed <> :subscribed::boolean
     returning c.project_id, c.id, known.event_id, c.subscribed
   ),
   ${subscriptionCtes(`'bulk'`)}
   select known.id, changed.id is not null as changed, ${heard('heard_event')} as heard from known left join changed on changed.id = known.id`,
)

/** Ids of contacts after one of them and up to another, in their order. */
export const pageOfIds = statement<
  { projectId: string; after: string | null; upTo: string | null; limit: number },
  { id: string }
>(
  'page-of-contact-ids',
  `select id from contacts
   where project_id = :projectId::uuid and (:after::uuid is null or id > :after::uuid) and id <= :upTo::uuid
     order by id limit :limit::int`,
)

type MatchingParams = { projectId: string; first: string; last: string; limit: number }

/** Ids of contacts that a condition lets through, from the first to the last one, in their order. */
export const matchingIds = ({ text }: ContactCondition) =>
  unpreparedStatement<MatchingParams & Record<string, unknown>, { id: string }>(
    `select c.id from contacts c
     where c.project_id = :projectId::uuid and c.id >= :first::uuid and c.id <= :last::uuid and ${text}
     order by c.id limit :limit::int`,
  )
