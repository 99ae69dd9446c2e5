import type { z } from 'zod'
import { loadAudience } from '../../audience/load.ts'
import type { FilterTree } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError, badRequest, fieldError, notFound, validationError } from '../../errors.ts'
import type { WorkflowStep, WorkflowTransition } from '../../generated/prisma/client.ts'
import { given } from '../../lib/given.ts'
import { isId, newId } from '../../lib/ids.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { assertSyntax } from '../templates/syntax.ts'
import { getTemplate } from '../templates/templates.ts'
import { assertNoneActive, type Workflow } from './find-workflow.ts'
import { STEPS } from './steps/steps.ts'
import {
  MAX_STEPS,
  problemsOfTransition,
  removalOf,
  type StepType,
  wayThrough,
} from './workflow-graph.rules.ts'
import type {
  createStepInput,
  createTransitionInput,
  insertStepInput,
  updateStepInput,
} from './workflows.input.ts'
import { changeWorkflow } from './workflows.ts'

type NewStep = z.output<typeof createStepInput>
type Link = Pick<WorkflowTransition, 'fromStepId' | 'toStepId' | 'branch'> & { priority?: number | undefined }

const GRAPH_STAYS = 'its steps and transitions stay as they are'

/** The settings of a step, checked. Throws VALIDATION_ERROR and TEMPLATE_NOT_FOUND. */
async function checkStep(
  tx: Ctx,
  type: StepType,
  { config = {}, templateId }: { config?: JsonObject | undefined; templateId: string | undefined },
): Promise<{ config: JsonObject; templateId: string | null }> {
  const { sendsTemplate, check, prepare, templates } = STEPS[type]
  const kept = check(config)
  for (const { field, template } of templates(kept)) await assertSyntax(tx, field, template)
  const { tree } = prepare(kept)
  if (tree) await assertSegments(tx, tree, kept)
  if (!sendsTemplate) return { config: kept, templateId: null }
  if (templateId === undefined) {
    throw fieldError('templateId', 'required', 'is required: the step sends a template')
  }
  const template = await getTemplate(tx, templateId)
  return { config: kept, templateId: template.id }
}

/** A filter without a tree around it has no place in one. */
const ONLY_FILTER = 'config.groups.0.filters.0.'

/** Throws VALIDATION_ERROR for segments that there are not. */
async function assertSegments(tx: Ctx, tree: FilterTree, config: JsonObject): Promise<void> {
  const isTree = isJsonObject(config.condition)
  try {
    await loadAudience(tx, tree, isTree ? 'config.condition' : 'config')
  } catch (error) {
    const errors = error instanceof AppError ? error.extras.errors : undefined
    if (isTree || !errors) throw error
    throw validationError(errors.map((one) => ({ ...one, field: one.field.replace(ONLY_FILTER, 'config.') })))
  }
}

async function addStep(tx: Ctx, workflow: Workflow, input: NewStep): Promise<WorkflowStep> {
  if (workflow.steps.length >= MAX_STEPS) {
    throw fieldError('type', 'too_big', `must not be added: a workflow has at most ${MAX_STEPS} steps`)
  }
  const { type, name = STEPS[type].title, position = { x: 0, y: 0 } } = input
  const checked = await checkStep(tx, type, { config: input.config, templateId: input.templateId })
  const now = tx.now()
  return tx.db.workflowStep.create({
    data: {
      ...{ projectId: workflow.projectId, id: newId(now), workflowId: workflow.id, type, name, position },
      ...checked,
      ...{ createdAt: now, updatedAt: now },
    },
  })
}

async function addTransition(
  tx: Ctx,
  workflow: Workflow,
  { priority = 0, ...link }: Link,
): Promise<WorkflowTransition> {
  const problems = problemsOfTransition(workflow, link)
  if (problems.length > 0) throw validationError(problems)
  const data = {
    projectId: workflow.projectId,
    id: newId(tx.now()),
    workflowId: workflow.id,
    ...link,
    priority,
  }
  return tx.db.workflowTransition.create({ data })
}

/** Changes the graph of a workflow that has no active executions. */
const changeGraph = <Result>(
  ctx: Ctx,
  workflowId: string,
  change: (tx: Ctx, workflow: Workflow) => Promise<Result>,
): Promise<{ result: Result; workflow: Workflow }> =>
  changeWorkflow(ctx, workflowId, async (tx, workflow) => {
    await assertNoneActive(tx, workflow, GRAPH_STAYS)
    return change(tx, workflow)
  })

export async function createStep(ctx: Ctx, workflowId: string, input: NewStep): Promise<WorkflowStep> {
  return (await changeGraph(ctx, workflowId, (tx, workflow) => addStep(tx, workflow, input))).result
}

function stepIn(workflow: Workflow, stepId: string): WorkflowStep {
  const step = isId(stepId) && workflow.steps.find(({ id }) => id === stepId.toLowerCase())
  if (!step) throw notFound('The step')
  return step
}

/** Changes the given fields. Executions that wait at the step go on to wait as they do. */
export async function updateStep(
  ctx: Ctx,
  { workflowId, stepId }: { workflowId: string; stepId: string },
  input: z.output<typeof updateStepInput>,
): Promise<WorkflowStep> {
  const { result } = await changeWorkflow(ctx, workflowId, async (tx, workflow) => {
    const step = stepIn(workflow, stepId)
    const { name, position } = input
    const changes = input.config !== undefined || input.templateId !== undefined
    const checked = changes ? await checkStep(tx, step.type, settingsOf(step, input)) : {}
    if (waitsForAnother(step, input))
      await assertNoneActive(tx, workflow, 'they may wait for the former event')
    return tx.db.workflowStep.update({
      where: { projectId_id: { projectId: projectIdOf(tx), id: step.id } },
      data: { ...given({ name, position }), ...checked, updatedAt: tx.now() },
    })
  })
  return result
}

const configOf = ({ config }: WorkflowStep): JsonObject => (isJsonObject(config) ? config : {})

const settingsOf = (step: WorkflowStep, { config, templateId }: z.output<typeof updateStepInput>) => ({
  config: config ?? configOf(step),
  templateId: templateId ?? step.templateId ?? undefined,
})

const waitsForAnother = (step: WorkflowStep, { config }: z.output<typeof updateStepInput>): boolean =>
  step.type === 'WAIT_FOR_EVENT' && config !== undefined && config.eventName !== configOf(step).eventName

/** Takes a step out with its transitions; with `splice` those that led to it lead to its successor. */
export async function deleteStep(
  ctx: Ctx,
  { workflowId, stepId, splice }: { workflowId: string; stepId: string; splice: boolean },
): Promise<void> {
  await changeGraph(ctx, workflowId, async (tx, workflow) => {
    const { id, type, projectId } = stepIn(workflow, stepId)
    if (type === 'TRIGGER') {
      throw new AppError('VALIDATION_ERROR', 'The TRIGGER step cannot be deleted: executions begin there.', {
        errors: [{ field: 'stepId', code: 'custom', message: 'must not be the TRIGGER step' }],
      })
    }
    const removal = removalOf(workflow, id, splice)
    if (!removal) {
      throw badRequest(
        'The step leads to several others, so its neighbours cannot be connected; delete it without splice.',
      )
    }
    for (const { id: transitionId, toStepId } of removal.redirected) {
      const where = { projectId_id: { projectId, id: transitionId } }
      await tx.db.workflowTransition.update({ where, data: { toStepId } })
    }
    await tx.db.workflowTransition.deleteMany({ where: { projectId, id: { in: removal.removed } } })
    await tx.db.workflowStep.delete({ where: { projectId_id: { projectId, id } } })
  })
}

export async function createTransition(
  ctx: Ctx,
  workflowId: string,
  { fromStepId, toStepId, branch, condition, priority }: z.output<typeof createTransitionInput>,
): Promise<WorkflowTransition> {
  const ids = { fromStepId: fromStepId.toLowerCase(), toStepId: toStepId.toLowerCase() }
  const link = { ...ids, branch: branch ?? condition?.branch ?? null, priority }
  return (await changeGraph(ctx, workflowId, (tx, workflow) => addTransition(tx, workflow, link))).result
}

export async function deleteTransition(
  ctx: Ctx,
  { workflowId, transitionId }: { workflowId: string; transitionId: string },
): Promise<void> {
  await changeGraph(ctx, workflowId, async (tx, workflow) => {
    const { id, projectId } = transitionIn(workflow, transitionId)
    await tx.db.workflowTransition.delete({ where: { projectId_id: { projectId, id } } })
  })
}

function transitionIn(workflow: Workflow, transitionId: string): WorkflowTransition {
  const found = isId(transitionId) && workflow.transitions.find(({ id }) => id === transitionId.toLowerCase())
  if (!found) throw notFound('The transition')
  return found
}

/** Puts a step into a transition; a CONDITION goes on by its branch `yes`. */
export async function insertStep(
  ctx: Ctx,
  workflowId: string,
  { transitionId, ...input }: z.output<typeof insertStepInput>,
): Promise<Workflow> {
  const { workflow } = await changeGraph(ctx, workflowId, async (tx, known) => {
    const { id, projectId, toStepId } = transitionIn(known, transitionId)
    const way = wayThrough(input.type)
    if (!way)
      throw fieldError('type', 'custom', `must not be ${input.type}, which ends: nothing comes after it`)
    const step = await addStep(tx, known, input)
    const where = { projectId_id: { projectId, id } }
    await tx.db.workflowTransition.update({ where, data: { toStepId: step.id } })
    const data = { projectId, id: newId(tx.now()), workflowId: known.id, fromStepId: step.id, toStepId }
    await tx.db.workflowTransition.create({ data: { ...data, branch: way.branch, priority: 0 } })
  })
  return workflow
}
