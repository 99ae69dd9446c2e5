import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'

/**
 * Locks a workflow until the commit, unless it is deleted. Executions that start meanwhile wait: each refers to it by a
 * foreign key.
 */
export const lockWorkflow = statement<{ projectId: string; id: string }, { id: string }>(
  'lock-workflow',
  'select id from workflows where project_id = :projectId::uuid and id = :id::uuid and not deleted for update',
)

/** Whether a workflow has executions that are not over. Index: workflow_executions_active. */
export const hasActive = statement<{ projectId: string; id: string }, { active: boolean }>(
  'workflow-has-active-executions',
  `select exists (select from workflow_executions where project_id = :projectId::uuid and workflow_id = :id::uuid
     and status in ('RUNNING', 'WAITING')) as active`,
)

export type WorkflowCounts = {
  id: string
  stepCount: number
  executionCount: number
  activeExecutionCount: number
}

/** How many steps and executions workflows have. Index: workflow_executions_project_id_workflow_id_status_id_idx. */
export const workflowCounts = statement<{ projectId: string; ids: string[] }, WorkflowCounts>(
  'workflow-counts',
  `select w.id,
     (select count(*) from workflow_steps s
      where s.project_id = :projectId::uuid and s.workflow_id = w.id)::int as "stepCount",
     executions.count as "executionCount", executions.active as "activeExecutionCount"
   from unnest(:ids::uuid[]) as w (id)
   cross join lateral (
     select count(*)::int as count, (count(*) filter (where status in ('RUNNING', 'WAITING')))::int as active
     from workflow_executions x where x.project_id = :projectId::uuid and x.workflow_id = w.id) executions`,
)

/** A step that has executions at or behind it. Index: step_executions_project_id_step_id_idx. */
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
  `select s.id as "stepId", counted.* from workflow_steps s
   cross join lateral (
     select (count(*) filter (where status in ('SCHEDULED', 'WAITING')))::int as waiting,
       (count(*) filter (where status = 'COMPLETED'))::int as completed,
       (count(*) filter (where status = 'SKIPPED'))::int as skipped,
       (count(*) filter (where status = 'FAILED'))::int as failed
     from step_executions e where e.project_id = :projectId::uuid and e.step_id = s.id) counted
   where s.project_id = :projectId::uuid and s.workflow_id = :id::uuid order by s.id`,
)

/** Hides a workflow, and has a worker remove it. */
export const removeLater = statement<{ projectId: string; id: string; clockShift: number }>(
  'remove-workflow-later',
  `update workflows set deleted = true, enabled = false, next_at = ${DATABASE_NOW}
   where project_id = :projectId::uuid and id = :id::uuid`,
)
