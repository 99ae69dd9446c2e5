import { type None, statement } from '../../../db/sql.ts'
import type { ExecutionStatus } from '../../../generated/prisma/enums.ts'

/**
 * How many executions of workflows, and of their steps, have a status: as counted, and in their tallies. `workflowIds` is an
 * expression. Keys: workflow_counts_pkey, workflow_tallies_pkey.
 */
const counted = (workflowIds: string): string =>
  ['workflow_counts', 'workflow_tallies']
    .map(
      (table) => `select counted_id, status, count from ${table}
       where project_id = :projectId::uuid and workflow_id = any(${workflowIds})`,
    )
    .join(' union all ')

const sumOf = (...statuses: string[]): string =>
  `coalesce(sum(c.count) filter (where c.status in (${statuses.map((one) => `'${one}'`).join(', ')})), 0)::int`

export type WorkflowCounts = {
  id: string
  stepCount: number
  executionCount: number
  activeExecutionCount: number
}

/** How many steps and executions workflows have. */
export const workflowCounts = statement<{ projectId: string; ids: string[] }, WorkflowCounts>(
  'workflow-counts',
  `with counted as (${counted(':ids::uuid[]')})
   select w.id,
     (select count(*) from workflow_steps s
      where s.project_id = :projectId::uuid and s.workflow_id = w.id)::int as "stepCount",
     coalesce(sum(c.count), 0)::int as "executionCount", ${sumOf('RUNNING', 'WAITING')} as "activeExecutionCount"
   from unnest(:ids::uuid[]) as w (id) left join counted c on c.counted_id = w.id group by w.id`,
)

/** How many executions a workflow has, of a status unless that is null. */
export const executionTotal = statement<
  { projectId: string; id: string; status: ExecutionStatus | null },
  { total: number }
>(
  'execution-total',
  `with counted as (${counted('array[:id::uuid]')})
   select coalesce(sum(count), 0)::int as total from counted
   where counted_id = :id::uuid and (:status::text is null or status = :status::text)`,
)

export type StepCounts = {
  stepId: string
  waiting: number
  completed: number
  skipped: number
  failed: number
}

/** What has become of the executions that came to the steps of a workflow. */
export const stepCounts = statement<{ projectId: string; id: string }, StepCounts>(
  'workflow-step-counts',
  `with counted as (${counted('array[:id::uuid]')})
   select s.id as "stepId", ${sumOf('SCHEDULED', 'WAITING')} as waiting, ${sumOf('COMPLETED')} as completed,
     ${sumOf('SKIPPED')} as skipped, ${sumOf('FAILED')} as failed
   from workflow_steps s left join counted c on c.counted_id = s.id
   where s.project_id = :projectId::uuid and s.workflow_id = :id::uuid group by s.id order by s.id`,
)

/** Projects with tallies. Loose scan of workflow_tallies_pkey. */
export const projectsWithTallies = statement<None, { projectId: string }>(
  'projects-with-workflow-tallies',
  `with recursive tallied as (
     (select project_id from workflow_tallies order by project_id limit 1)
     union all
     select (select t.project_id from workflow_tallies t where t.project_id > tallied.project_id
       order by t.project_id limit 1)
     from tallied where tallied.project_id is not null
   )
   select project_id as "projectId" from tallied where project_id is not null`,
)

/** Adds tallies of a project to the counts; those of workflows that are gone disappear. */
export const foldTallies = statement<{ projectId: string; limit: number }, { folded: number }>(
  'fold-workflow-tallies',
  `with gone as (
     delete from workflow_tallies t using (
       select workflow_id, id from workflow_tallies where project_id = :projectId::uuid
       order by workflow_id, id limit :limit::int for update skip locked) few
     where t.project_id = :projectId::uuid and t.workflow_id = few.workflow_id and t.id = few.id
     returning t.workflow_id, t.counted_id, t.status, t.count
   ),
   added as (
     insert into workflow_counts as c (project_id, workflow_id, counted_id, status, count)
     select :projectId::uuid, workflow_id, counted_id, status, sum(count) from gone
     where exists (select from workflows w where w.project_id = :projectId::uuid and w.id = workflow_id)
     group by workflow_id, counted_id, status order by workflow_id, counted_id, status
     on conflict (project_id, workflow_id, counted_id, status) do update set count = c.count + excluded.count
   )
   select count(*)::int as folded from gone`,
)

/** Forgets what was counted of a workflow that is removed. */
export const removeCounts = statement<{ projectId: string; id: string }>(
  'remove-workflow-counts',
  `with tallies as (delete from workflow_tallies where project_id = :projectId::uuid and workflow_id = :id::uuid)
   delete from workflow_counts where project_id = :projectId::uuid and workflow_id = :id::uuid`,
)
