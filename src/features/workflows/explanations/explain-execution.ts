import { type Ctx, projectIdOf } from '../../../ctx.ts'
import type { StepExecution, WorkflowStep } from '../../../generated/prisma/client.ts'
import { isJsonObject } from '../../../lib/json.ts'
import { type ExecutionKey, getExecution } from '../executions/executions.ts'
import { getWorkflow } from '../find-workflow.ts'

export const EXECUTION_SITUATIONS = {
  GOES_ON: { description: 'It goes on as soon as a worker has the time.' },
  PROJECT_DISABLED: { description: 'It would go on, but the project is disabled.' },
  WAITS_FOR_TIME: { description: 'It waits for a time.' },
  WAITS_FOR_EVENT: { description: 'It waits for an event, however long that takes.' },
  WAITS_FOR_EVENT_OR_TIME: { description: 'It waits for an event until a time.' },
  WAITS_FOR_CALL: { description: 'It waits for the end of the call of a WEBHOOK step.' },
  COMPLETED: { description: 'It has come to the end of its way.' },
  EXITED: { description: 'An EXIT step has ended it.' },
  FAILED: { description: 'Its step has failed.' },
  CANCELLED: { description: 'It was cancelled.' },
} as const

export type ExecutionSituation = keyof typeof EXECUTION_SITUATIONS

export type ExecutionExplanation = {
  code: ExecutionSituation
  text: string
  stepId: string | null
  stepName: string | null
  since: Date | null
  until: Date | null
  event: string | null
  callId: string | null
  wokenBy: string[]
}

/** Why an execution is where it is, and what would move it. Throws as `getExecution` does. */
export async function explainExecution(ctx: Ctx, key: ExecutionKey): Promise<ExecutionExplanation> {
  const { steps } = await getWorkflow(ctx, key.workflowId)
  const execution = await getExecution(ctx, key)
  const { status, currentStepId, completedAt, exitReason, nextAt, waitingForEvent: event } = execution
  const step = steps.find(({ id }) => id === currentStepId)
  const passed = execution.stepExecutions.find(({ stepId }) => stepId === currentStepId)
  const at = {
    stepId: currentStepId,
    stepName: step?.name ?? null,
    since:
      completedAt ?? passed?.startedAt ?? execution.stepExecutions.at(-1)?.completedAt ?? execution.startedAt,
  }
  if (status === 'WAITING') return { ...at, ...(await waiting(ctx, { until: nextAt, event, passed, step })) }
  if (status !== 'RUNNING') {
    const where = step ? ` at the step "${step.name}"` : ''
    const why = exitReason === null ? '' : `: ${exitReason}`
    const text = `The execution is ${status}${where} since ${timeOf(at.since)}${why}`
    const wokenBy = status === 'FAILED' ? ['retryWorkflowExecution, which tries the step again'] : []
    return { ...at, ...NOTHING, code: status, text: endedBy(text, '.'), wokenBy }
  }
  const { disabled } = await ctx.db.project.findUniqueOrThrow({ where: { id: projectIdOf(ctx) } })
  const next = step ? `the step "${step.name}"` : 'its next step'
  return disabled
    ? {
        ...{ ...at, ...NOTHING, code: 'PROJECT_DISABLED' },
        text: `The execution would go on with ${next}, but the project is disabled, and its workflows rest.`,
        wokenBy: ['the end of the stop of the project'],
      }
    : {
        ...{ ...at, ...NOTHING, code: 'GOES_ON' },
        text: `The execution goes on with ${next} as soon as a worker has the time, usually within seconds.`,
        wokenBy: ['a worker'],
      }
}

const NOTHING = { until: null, event: null, callId: null }

const timeOf = (time: Date): string => time.toISOString()

const endedBy = (text: string, end: string): string => (text.endsWith(end) ? text : text + end)

type Wait = {
  until: Date | null
  event: string | null
  passed: StepExecution | undefined
  step: WorkflowStep | undefined
}

async function waiting(
  ctx: Ctx,
  { until, event, passed, step }: Wait,
): Promise<Omit<ExecutionExplanation, 'stepId' | 'stepName' | 'since'>> {
  const where = `The execution waits at the step "${step?.name ?? ''}"`
  if (event !== null) {
    const cause = `an event "${event}" of the contact`
    return until === null
      ? {
          ...{ until, event, callId: null, code: 'WAITS_FOR_EVENT', wokenBy: [cause] },
          text: `${where} for ${cause}; there is no time-out.`,
        }
      : {
          ...{ until, event, callId: null, code: 'WAITS_FOR_EVENT_OR_TIME' },
          wokenBy: [cause, `the time ${timeOf(until)}`],
          text: `${where} for ${cause}, until ${timeOf(until)}; it takes the branch timeout then.`,
        }
  }
  if (until !== null) {
    const wokenBy = [`the time ${timeOf(until)}`]
    return { ...NOTHING, until, code: 'WAITS_FOR_TIME', text: `${where} until ${timeOf(until)}.`, wokenBy }
  }
  const callId =
    isJsonObject(passed?.output) && typeof passed.output.callId === 'string' ? passed.output.callId : null
  const call = callId === null ? null : await lastTryOf(ctx, callId)
  const tried =
    call && call.attempts > 0
      ? `; it was tried ${call.attempts === 1 ? 'once' : `${call.attempts} times`} (${call.tries[0]?.error ?? 'under way'})`
      : ''
  const next = call?.dueAt ? `, and is tried next at ${timeOf(call.dueAt)}` : ''
  return {
    ...{ event, callId, until: call?.dueAt ?? null, code: 'WAITS_FOR_CALL' },
    text: `${where} for the end of its call${tried}${next}.`,
    wokenBy: ['an answer of 2xx to the call, or its failure for good'],
  }
}

const lastTryOf = (ctx: Ctx, id: string) =>
  ctx.db.webhookMessage.findUnique({
    where: { projectId_id: { projectId: projectIdOf(ctx), id } },
    include: { tries: { orderBy: { id: 'desc' }, take: 1 } },
  })
