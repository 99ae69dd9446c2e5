import { isIdKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement } from '../../db/sql.ts'

/** Something that will happen at a time. */
export type Upcoming = {
  id: string
  type: 'campaign.scheduled' | 'workflow.waiting'
  scheduledFor: Date
  name: string
  contactId: string | null
  contactEmail: string | null
}

/**
 * Campaigns that are scheduled, and executions that wait, up to a time, the next ones first. Indexes:
 * campaigns_next_of_project, workflow_executions_next.
 */
export const upcoming = analyticStatement<
  { projectId: string; now: Date; until: Date; limit: number },
  Upcoming
>(
  `select id, type, "scheduledFor", name, contact_id as "contactId", email as "contactEmail" from (
     (select id, 'campaign.scheduled' as type, next_at as "scheduledFor", name, null::uuid as contact_id,
        null as email
      from campaigns where project_id = :projectId::uuid and next_at <= :until::timestamptz
        and status = 'SCHEDULED' and not deleted
      order by next_at, id limit :limit::int)
     union all
     (select x.id, 'workflow.waiting', x.next_at, w.name, x.contact_id, c.email from (
        select * from workflow_executions x
        where x.project_id = :projectId::uuid and x.next_at > :now::timestamptz
          and x.next_at <= :until::timestamptz and x.status = 'WAITING' and ${isIdKept('x.contact_id')}
        order by x.next_at, x.id limit :limit::int) x
      join workflows w on w.project_id = x.project_id and w.id = x.workflow_id
      join contacts c on c.project_id = x.project_id and c.id = x.contact_id)) next
   order by "scheduledFor", id limit :limit::int`,
)
