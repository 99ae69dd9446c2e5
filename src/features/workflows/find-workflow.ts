import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, notFound } from '../../errors.ts'
import type {
  Prisma,
  Workflow as WorkflowRow,
  WorkflowStep,
  WorkflowTransition,
} from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import { hasActive, lockWorkflow } from './workflows.sql.ts'

/** A workflow with its graph: at most MAX_STEPS steps. */
export type Workflow = WorkflowRow & { steps: WorkflowStep[]; transitions: WorkflowTransition[] }

const workflowNotFound = () => notFound('The workflow', 'WORKFLOW_NOT_FOUND')

const GRAPH = {
  steps: { orderBy: { id: 'asc' } },
  transitions: { orderBy: [{ priority: 'asc' }, { id: 'asc' }] },
} satisfies Prisma.WorkflowInclude

/** A workflow of the project. Throws WORKFLOW_NOT_FOUND. */
export async function getWorkflow(ctx: Ctx, id: string): Promise<Workflow> {
  if (!isId(id)) throw notFound('The workflow')
  const [workflow] = await readWorkflows(ctx, [id])
  if (!workflow) throw workflowNotFound()
  return workflow
}

/** Workflows with their graphs, in any order. */
export const readWorkflows = (ctx: Ctx, ids: string[]): Promise<Workflow[]> =>
  ctx.db.workflow.findMany({
    where: { projectId: projectIdOf(ctx), id: { in: ids }, deleted: false },
    include: GRAPH,
  })

/** Whether there is a workflow, without reading it. Throws WORKFLOW_NOT_FOUND. */
export async function assertWorkflow(ctx: Ctx, id: string): Promise<void> {
  if (!isId(id)) throw notFound('The workflow')
  const where = { projectId: projectIdOf(ctx), id, deleted: false }
  if ((await ctx.db.workflow.count({ where })) === 0) throw workflowNotFound()
}

/** Locks a workflow until the commit and returns it. */
export async function lockedWorkflow(tx: Ctx, id: string): Promise<Workflow> {
  if (!isId(id)) throw notFound('The workflow')
  const [locked] = await tx.sql(lockWorkflow, { projectId: projectIdOf(tx), id })
  if (!locked) throw workflowNotFound()
  return getWorkflow(tx, id)
}

/** Throws CONFLICT while executions of a workflow, which is locked, are not over. */
export async function assertNoneActive(tx: Ctx, { id }: Workflow, told: string): Promise<void> {
  const [row] = await tx.sql(hasActive, { projectId: projectIdOf(tx), id })
  if (!row?.active) return
  throw conflict(
    `The workflow has active executions; ${told}. Let them end, or cancel them (POST /workflows/:id/executions/cancel-all).`,
  )
}
