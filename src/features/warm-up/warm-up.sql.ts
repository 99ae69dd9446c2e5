import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'

/**
 * Makes mail of campaigns and workflows due that was put off and is from a sender domain, looking at `limit` messages behind
 * `after`; mail that was tried keeps its time. Returns the last that it has looked at, null when there are no more. Key:
 * deliveries_pkey.
 */
export const bringForward = statement<
  { projectId: string; domain: string; clockShift: number; after: string; limit: number },
  { last: string | null }
>(
  'bring-mail-forward',
  `with page as materialized (
     select project_id, email_id from deliveries
     where project_id = :projectId::uuid and email_id > :after::uuid and taken_by is null and priority in (1, 2)
       and attempts = 0 and due_at > ${DATABASE_NOW} and due_at < 'infinity'
     order by email_id limit :limit::int for update skip locked
   ),
   due as (
     update deliveries d set due_at = ${DATABASE_NOW} from page
     join emails e on e.project_id = page.project_id and e.id = page.email_id
     where d.project_id = page.project_id and d.email_id = page.email_id
       and substring(e."from" from '[^@]*$') = :domain
   )
   select max(email_id::text) as last from page`,
)
