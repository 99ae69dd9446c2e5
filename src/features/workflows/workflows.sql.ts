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

/** Hides a workflow, and has a worker remove it. */
export const removeLater = statement<{ projectId: string; id: string; clockShift: number }>(
  'remove-workflow-later',
  `update workflows set deleted = true, enabled = false, next_at = ${DATABASE_NOW}
   where project_id = :projectId::uuid and id = :id::uuid`,
)
