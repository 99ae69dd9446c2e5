import { loadAudience, loadSubjects } from '../../../audience/load.ts'
import type { Subject } from '../../../audience/match.rules.ts'
import { referencesOf } from '../../../audience/references.rules.ts'
import type { Audience } from '../../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { isDatabaseUnavailable } from '../../../db/sql.ts'
import { AppError } from '../../../errors.ts'
import type { Template, WorkflowStep } from '../../../generated/prisma/client.ts'
import type { Tracking } from '../../../generated/prisma/enums.ts'
import { Pauses } from '../../../lib/async/pauses.ts'
import { isJsonObject } from '../../../lib/json.ts'
import { ensureContacts } from '../../contacts/contacts.ts'
import { assertSenderVerified } from '../../domains/sender.ts'
import { type EndedCall, readEndedCalls } from '../../webhooks/workflow-calls.ts'
import { readWorkflows, type Workflow } from '../find-workflow.ts'
import type { At, Outcome, PreparedStep, Receiver } from '../steps/define-step.ts'
import { STEPS } from '../steps/steps.ts'
import type { Graph, StepType } from '../workflow-graph.rules.ts'
import type { DueExecution } from './advance.sql.ts'

/** What a step of an execution has come to; an error when it could not be done. */
export type Ran = {
  execution: DueExecution
  graph: Graph
  stepId: string
  email: string
  outcome: Outcome | AppError
}

export type Moment = { now: Date; language: string; footerText: string | null; tracking: Tracking }

/** Milliseconds for which one commit runs steps, and characters that it renders: the others come later. */
const RUN_MS = 700
const MAX_SIZE = 16 * 1024 * 1024

/** A step that executions are at, with all that it needs. */
export type Ready = {
  workflow: Workflow
  stepId: string
  type: StepType
  name: string
  prepared: PreparedStep
  audience: Audience | null
  template: Template | AppError | null
}

/** Runs the steps at which executions are: contacts, segments and templates are read for all of them together. */
export async function runSteps(tx: Ctx, executions: DueExecution[], moment: Moment): Promise<Ran[]> {
  const ready = await readSteps(tx, executions)
  const subjects = await readSubjects(tx, executions, [...ready.values()])
  const ended = await readEndedCalls(tx, callsAwaited(executions, ready))
  const began = performance.now()
  const done: Ran[] = []
  let size = 0
  const pauses = new Pauses()
  for (const execution of executions) {
    await pauses.whenDue()
    const step = execution.stepId === null ? undefined : ready.get(execution.stepId)
    const subject = subjects.get(execution.contactId)
    if (!step || !subject) continue
    if (done.length > 0 && (performance.now() - began > RUN_MS || size > MAX_SIZE)) break
    const call = ended.get(execution.wokenBy ?? '') ?? null
    // A slice renders for many contacts, each of whom may cost as much as a request.
    const own = { ...tx, renderBudget: tx.services.rendering.newBudget() }
    const receiverAt = (address: string) => contactAt(tx, address)
    const run = { execution, step, subject, moment, ended: call, receiverAt }
    const outcome = await withPermit(tx, await runStep(own, run), moment.now)
    size += sizeOf(outcome)
    const { email } = subject.contact
    done.push({ execution, graph: step.workflow, stepId: step.stepId, email, outcome })
  }
  return done
}

/**
 * Leaves the mail of a step out when a cap of the project is reached: weeks later it would be worse than none, and the
 * journey goes on. Permits of a commit that fails come back by themselves, a little later.
 */
async function withPermit(tx: Ctx, outcome: Outcome | AppError, now: Date): Promise<Outcome | AppError> {
  const { mailPermits } = tx.services
  if (!mailPermits || !('kind' in outcome) || outcome.kind !== 'done' || !outcome.mail) return outcome
  if ((await mailPermits.takeSome(projectIdOf(tx), 'WORKFLOWS', 1, now)) > 0) return outcome
  return { kind: 'done', branch: outcome.branch, skipped: true, output: { reason: 'billing limit' } }
}

/** Executions for whose steps the database has refused something. */
export const failed = (executions: DueExecution[], failure: AppError): Ran[] =>
  executions.flatMap((execution) => {
    const { stepId } = execution
    return stepId === null ? [] : [{ execution, graph: NOTHING, stepId, email: '', outcome: failure }]
  })

const NOTHING: Graph = { steps: [], transitions: [] }

/** Ids of the calls that executions have waited for. */
const callsAwaited = (executions: DueExecution[], ready: Map<string, Ready>): string[] =>
  executions.flatMap(({ stepId, wokenBy }) =>
    wokenBy !== null && ready.get(stepId ?? '')?.type === 'WEBHOOK' ? [wokenBy] : [],
  )

function sizeOf(outcome: Outcome | AppError): number {
  if (outcome instanceof AppError || outcome.kind === 'exit') return 0
  return outcome.kind === 'wait'
    ? (outcome.call?.body.length ?? 0)
    : (outcome.mail?.composed.html.length ?? 0)
}

type Run = {
  execution: DueExecution
  step: Ready
  subject: Subject
  moment: Moment
  ended: EndedCall | null
  receiverAt: At['receiverAt']
}

async function contactAt(tx: Ctx, email: string): Promise<Receiver> {
  await ensureContacts(tx, [email], false)
  const projectId_email = { projectId: projectIdOf(tx), email }
  const { id, subscribed } = await tx.db.contact.findUniqueOrThrow({ where: { projectId_email } })
  return { contactId: id, email, subscribed }
}

/** What the step comes to for an execution. It writes nothing, but for a contact of `receiverAt`. */
export async function runStep(
  tx: Ctx,
  { execution, step, subject, moment, ended, receiverAt }: Run,
): Promise<Outcome | AppError> {
  const { id: executionId, contactId, status, wokenBy, context } = execution
  const { prepared, audience, template } = step
  if (template instanceof AppError) return template
  try {
    return await prepared.run(
      {
        ...{
          executionId,
          contactId,
          subject,
          audience,
          template,
          wokenBy,
          ended,
          now: moment.now,
          receiverAt,
        },
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

const readSteps = async (tx: Ctx, executions: DueExecution[]): Promise<Map<string, Ready>> => {
  const wanted = new Set(executions.map(({ stepId }) => stepId))
  const workflows = await readWorkflows(tx, [...new Set(executions.map(({ workflowId }) => workflowId))])
  return readyTo(tx, workflows, ({ id }) => wanted.has(id))
}

/** Those of the steps of workflows that are wanted, with all that they need, by their ids. */
export async function readyTo(
  tx: Ctx,
  workflows: Workflow[],
  isWanted: (step: WorkflowStep) => boolean,
): Promise<Map<string, Ready>> {
  const steps = workflows.flatMap((workflow) =>
    workflow.steps.filter(isWanted).map((step) => ({ workflow, step })),
  )
  const templates = await readTemplates(tx, [
    ...new Set(steps.flatMap(({ step }) => (step.templateId === null ? [] : [step.templateId]))),
  ])
  const ready = new Map<string, Ready>()
  for (const { workflow, step } of steps) {
    const prepared = STEPS[step.type].prepare(isJsonObject(step.config) ? step.config : {})
    const audience = prepared.tree && (await loadAudience(tx, prepared.tree, 'config'))
    const template = step.templateId === null ? null : (templates.get(step.templateId) ?? null)
    ready.set(step.id, {
      workflow,
      stepId: step.id,
      type: step.type,
      name: step.name,
      prepared,
      audience,
      template,
    })
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
export async function readSubjects(
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
