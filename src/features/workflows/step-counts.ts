import { type Ctx, projectIdOf } from '../../ctx.ts'
import { assertWorkflow } from './find-workflow.ts'
import { type StepCounts, stepCounts } from './workflows.sql.ts'

/** What has become of the executions that came to each step of a workflow. */
export async function countSteps(ctx: Ctx, id: string): Promise<StepCounts[]> {
  await assertWorkflow(ctx, id)
  return ctx.sql(stepCounts, { projectId: projectIdOf(ctx), id })
}
