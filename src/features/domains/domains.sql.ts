import { statement } from '../../db/sql.ts'

/** Projects with domains that are to be looked at. Index: domains_next_check_at_idx. */
export const projectsWithDueDomains = statement<{ now: Date }, { projectId: string }>(
  'projects-with-due-domains',
  `select distinct project_id as "projectId" from domains where next_check_at <= :now::timestamptz limit 1000`,
)

/**
 * What would stop without the domain: campaigns that are under way or scheduled, and workflows that are on and send a
 * template from it. Keys: of each by its project.
 */
export const usersOfDomain = statement<
  { projectId: string; domain: string },
  { campaigns: string[]; workflows: string[] }
>(
  'users-of-domain',
  `select array(
     select c.name from campaigns c where c.project_id = :projectId::uuid and not c.deleted
       and c.status in ('SCHEDULED', 'SENDING') and lower(substring(c."from" from '[^@]*$')) = :domain
     order by c.id limit 5) as campaigns,
   array(
     select w.name from workflows w where w.project_id = :projectId::uuid and w.enabled and exists (
       select from workflow_steps s join templates t on t.project_id = s.project_id and t.id = s.template_id
       where s.project_id = w.project_id and s.workflow_id = w.id
         and lower(substring(t."from" from '[^@]*$')) = :domain)
     order by w.id limit 5) as workflows`,
)
