import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError, type FieldError } from '../../errors.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { getWorkflow, type Workflow } from './find-workflow.ts'
import { STEPS } from './steps/steps.ts'
import { textIn } from './triggers.ts'
import { openBranches, reachableSteps } from './workflow-graph.rules.ts'

/** An ERROR keeps the workflow from being enabled. */
export type WorkflowProblem = {
  severity: 'ERROR' | 'WARNING'
  stepId: string | null
  field: string
  code: string
  message: string
}

/** Everything that is wrong with a workflow, or looks as if it were, at once. */
export async function validateWorkflow(ctx: Ctx, id: string): Promise<WorkflowProblem[]> {
  return problemsOf(ctx, await getWorkflow(ctx, id))
}

export async function problemsOf(ctx: Ctx, workflow: Workflow): Promise<WorkflowProblem[]> {
  const open = workflow.steps.flatMap((step) =>
    openBranches(workflow, step).map((branch) => ({
      ...warning(step.id, 'branch', 'open_branch'),
      message: `The step "${step.name}" has nothing for its branch ${branch}; executions that take it are completed there.`,
    })),
  )
  const reached = reachableSteps(workflow)
  const unreached = workflow.steps.filter(({ id }) => !reached.has(id))
  const lost = unreached.map(({ id, name }) => ({
    ...warning(id, 'steps', 'unreachable'),
    message: `No transition leads to the step "${name}"; no execution comes to it.`,
  }))
  return [...problemsOfTrigger(workflow), ...(await problemsOfSteps(ctx, workflow)), ...lost, ...open]
}

const warning = (stepId: string, field: string, code: string) =>
  ({ severity: 'WARNING', stepId, field, code }) as const

function problemsOfTrigger(workflow: Workflow): WorkflowProblem[] {
  const needed = { EVENT: ['eventName'], MANUAL: [], SCHEDULE: ['cron', 'segmentId'] }[workflow.triggerType]
  const missing = needed.filter((key) => textIn(workflow.triggerConfig, key) === null)
  return missing.map((key) => ({
    ...{ severity: 'ERROR' as const, stepId: null, field: `triggerConfig.${key}`, code: 'required' },
    message: `is required for the trigger ${workflow.triggerType}`,
  }))
}

/** Steps whose settings do not hold any more, and senders that may not send. */
async function problemsOfSteps(ctx: Ctx, { steps }: Workflow): Promise<WorkflowProblem[]> {
  const problems = steps.flatMap(({ id, type, config }): WorkflowProblem[] => {
    return errorsOf(() => STEPS[type].check(config)).map(({ field, code, message }) => ({
      ...{ severity: 'ERROR' as const, stepId: id, field, code, message },
    }))
  })
  const ids = [...new Set(steps.flatMap(({ templateId }) => (templateId === null ? [] : [templateId])))]
  const templates = await ctx.db.template.findMany({
    where: { projectId: projectIdOf(ctx), id: { in: ids } },
    select: { id: true, from: true },
  })
  for (const { id, from } of templates) {
    const refused = await assertSenderVerified(ctx, from).then(
      () => null,
      (error: unknown) => (error instanceof AppError ? error : Promise.reject(error)),
    )
    const sending = refused ? steps.filter(({ templateId }) => templateId === id) : []
    const message = `${refused?.message} Until it is, mail from ${from} fails.`
    problems.push(
      ...sending.map((step) => ({ ...warning(step.id, 'templateId', 'domain_not_verified'), message })),
    )
  }
  return problems
}

function errorsOf(check: () => unknown): FieldError[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof AppError && error.extras.errors) return error.extras.errors
    throw error
  }
}
