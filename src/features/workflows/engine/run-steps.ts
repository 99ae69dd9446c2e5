import { loadAudience, loadSubjects } from '../../../audience/load.ts'
import type { Subject } from '../../../audience/match.rules.ts'
import { referencesOf } from '../../../audience/references.rules.ts'
import type { Audience } from '../../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { isDatabaseUnavailable } from '../../../db/sql.ts'
import { AppError } from '../../../errors.ts'
import type { Template } from '../../../generated/prisma/client.ts'
import type { Tracking } from '../../../generated/prisma/enums.ts'
import { isJsonObject } from '../../../lib/json.ts'
import { assertSenderVerified } from '../../domains/sender.ts'
import { readWorkflows, type Workflow } from '../find-workflow.ts'
import type { Outcome, PreparedStep } from '../steps/define-step.ts'
import { STEPS } from '../steps/steps.ts'
import type { Graph } from '../workflow-graph.rules.ts'
import type { DueExecution } from './advance.sql.ts'

/** What a step of an execution has come to; an error when it could not be done. */
export type Ran = {
  execution: DueExecution
  graph: Graph
  stepId: string
  email: string
  outcome: Outcome | AppError
}

export type Moment = { now: Date; language: string; tracking: Tracking }

/** Milliseconds for which one commit runs steps, and characters of mail that it renders: the others come later. */
const RUN_MS = 700
const MAX_MAIL = 16 * 1024 * 1024

/** A step that executions are at, with all that it needs. */
type Ready = {
  workflow: Workflow
  stepId: string
  prepared: PreparedStep
  audience: Audience | null
  template: Template | AppError | null
}

/** Runs the steps at which executions are: contacts, segments and templates are read for all of them together. */
export async function runSteps(tx: Ctx, executions: DueExecution[], moment: Moment): Promise<Ran[]> {
  const ready = await readSteps(tx, executions)
  const subjects = await readSubjects(tx, executions, [...ready.values()])
  const began = performance.now()
  const done: Ran[] = []
  let mail = 0
  for (const execution of executions) {
    const step = execution.stepId === null ? undefined : ready.get(execution.stepId)
    const subject = subjects.get(execution.contactId)
    if (!step || !subject) continue
    if (done.length > 0 && (performance.now() - began > RUN_MS || mail > MAX_MAIL)) break
    const outcome = await runStep(tx, { execution, step, subject, moment })
    if ('kind' in outcome && outcome.kind === 'done') mail += outcome.mail?.composed.html.length ?? 0
    const { email } = subject.contact
    done.push({ execution, graph: step.workflow, stepId: step.stepId, email, outcome })
  }
  return done
}

/** Executions for whose steps the database has refused something. */
export const failed = (executions: DueExecution[], failure: AppError): Ran[] =>
  executions.flatMap((execution) => {
    const { stepId } = execution
    return stepId === null ? [] : [{ execution, graph: NOTHING, stepId, email: '', outcome: failure }]
  })

const NOTHING: Graph = { steps: [], transitions: [] }

type Run = { execution: DueExecution; step: Ready; subject: Subject; moment: Moment }

async function runStep(tx: Ctx, { execution, step, subject, moment }: Run): Promise<Outcome | AppError> {
  const { id: executionId, contactId, status, wokenBy, context } = execution
  const { prepared, audience, template } = step
  if (template instanceof AppError) return template
  try {
    return await prepared.run(
      {
        ...{ executionId, contactId, subject, audience, template, wokenBy, now: moment.now },
        context: isJsonObject(context) ? context : {},
        waited: status === 'WAITING',
        settings: moment,
      },
      tx,
    )
  } catch (error) {
    return asFailure(tx, error)
  }
}

/** An error that only the step is to blame for. Throws all others. */
export function asFailure(ctx: Ctx, error: unknown): AppError {
  if (isDatabaseUnavailable(error)) throw error
  if (error instanceof AppError && error.code !== 'SERVICE_UNAVAILABLE') return error
  if (error instanceof AppError) throw error
  ctx.log.error({ err: error, projectId: projectIdOf(ctx) }, 'a step of a workflow has failed')
  return new AppError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side; it can be tried again.')
}

async function readSteps(tx: Ctx, executions: DueExecution[]): Promise<Map<string, Ready>> {
  const wanted = new Set(executions.map(({ stepId }) => stepId))
  const workflows = await readWorkflows(tx, [...new Set(executions.map(({ workflowId }) => workflowId))])
  const steps = workflows.flatMap((workflow) =>
    workflow.steps.filter(({ id }) => wanted.has(id)).map((step) => ({ workflow, step })),
  )
  const templates = await readTemplates(tx, [
    ...new Set(steps.flatMap(({ step }) => (step.templateId === null ? [] : [step.templateId]))),
  ])
  const ready = new Map<string, Ready>()
  for (const { workflow, step } of steps) {
    const prepared = STEPS[step.type].prepare(isJsonObject(step.config) ? step.config : {})
    const audience = prepared.tree && (await loadAudience(tx, prepared.tree, 'config'))
    const template = step.templateId === null ? null : (templates.get(step.templateId) ?? null)
    ready.set(step.id, { workflow, stepId: step.id, prepared, audience, template })
  }
  return ready
}

/** Templates by their ids; an error in the place of one whose sender may not send. */
async function readTemplates(tx: Ctx, ids: string[]): Promise<Map<string, Template | AppError>> {
  if (ids.length === 0) return new Map()
  const templates = await tx.db.template.findMany({ where: { projectId: projectIdOf(tx), id: { in: ids } } })
  const checked = new Map<string, Template | AppError>()
  for (const template of templates) {
    const refusal = await assertSenderVerified(tx, template.from).then(
      () => null,
      (error: unknown) => asFailure(tx, error),
    )
    checked.set(template.id, refusal ?? template)
  }
  return checked
}

/** The contacts with all that the conditions ask for. */
async function readSubjects(
  tx: Ctx,
  executions: DueExecution[],
  steps: Ready[],
): Promise<Map<string, Subject>> {
  const trees = steps.flatMap(({ audience }) =>
    audience
      ? [
          audience.tree,
          ...[...audience.segments.values()].flatMap((one) =>
            one.members === 'computed' ? [one.condition] : [],
          ),
        ]
      : [],
  )
  const references = trees.map(referencesOf)
  return loadSubjects(tx, [...new Set(executions.map(({ contactId }) => contactId))], {
    events: [...new Set(references.flatMap(({ events }) => events))],
    segments: [...new Set(references.flatMap(({ segments }) => segments))],
  })
}
