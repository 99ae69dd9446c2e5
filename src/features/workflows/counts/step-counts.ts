import { watch } from '../../../admission/watch.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { assertWorkflow } from '../find-workflow.ts'
import { type StepCounts, stepCounts } from './counts.sql.ts'

/** What has become of the executions that came to each step of a workflow. */
export async function countSteps(ctx: Ctx, id: string): Promise<StepCounts[]> {
  await assertWorkflow(ctx, id)
  return ctx.sql(stepCounts, { projectId: projectIdOf(ctx), id })
}

/** The same, and again at every change, as long as the workflow is there. */
export const watchSteps = (ctx: Ctx, id: string): Promise<AsyncIterableIterator<StepCounts[]>> =>
  watch(ctx, {
    read: () => countSteps(ctx, id),
    stateOf: (counts) => counts,
    isOver: () => false,
  })
