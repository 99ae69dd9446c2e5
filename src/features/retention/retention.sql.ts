import { statement } from '../../db/sql.ts'

type Batch = { projectId: string; end: string; limit: number }

/** Deletes the first events below the id `end`. Key: events_pkey. */
export const deleteOldEvents = statement<Batch, { id: string }>(
  'delete-old-events',
  `delete from events e using (
     select id from events where project_id = :projectId::uuid and id < :end::uuid order by id limit :limit::int
   ) old
   where e.project_id = :projectId::uuid and e.id = old.id and e.id < :end::uuid returning e.id`,
)

/** Deletes the first messages below the id `end` that wait for nothing. Keys: emails_pkey, deliveries_pkey. */
export const deleteOldEmails = statement<Batch, { id: string }>(
  'delete-old-emails',
  `delete from emails e using (
     select id from emails old where project_id = :projectId::uuid and id < :end::uuid and not exists (
       select from deliveries d where d.project_id = old.project_id and d.email_id = old.id)
     order by id limit :limit::int
   ) old
   where e.project_id = :projectId::uuid and e.id = old.id and e.id < :end::uuid returning e.id`,
)

/** The first message of a project that waits to be delivered. Key: deliveries_pkey. */
export const firstWaiting = statement<{ projectId: string }, { id: string }>(
  'first-waiting-mail',
  `select email_id as id from deliveries where project_id = :projectId::uuid order by email_id limit 1`,
)
