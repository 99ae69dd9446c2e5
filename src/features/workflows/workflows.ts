import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { takeQuota } from '../../admission/quotas.ts'
import { workflowAdvancingWork } from '../../changes/followers.ts'
import { keepInterests, lockInterests } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { Workflow as WorkflowRow } from '../../generated/prisma/client.ts'
import { given } from '../../lib/given.ts'
import { newId } from '../../lib/ids.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { escapeLike } from '../../lib/like.ts'
import { copyName } from '../../lib/text/copy-name.ts'
import {
  type OffsetPage,
  type OrderRequest,
  type PageRequest,
  readOffsetPage,
  readOrder,
} from '../../paging/offset-page.ts'
import { firstSecret } from '../webhooks/secrets.ts'
import { type WorkflowCounts, workflowCounts } from './counts/counts.sql.ts'
import { assertNoneActive, getWorkflow, lockedWorkflow, type Workflow } from './find-workflow.ts'
import { STEPS } from './steps/steps.ts'
import { checkTrigger, interestsOfTrigger, nextRun } from './triggers.ts'
import { problemsOf } from './workflow-problems.ts'
import { type createWorkflowInput, MAX_NAME, type updateWorkflowInput } from './workflows.input.ts'
import { removeLater } from './workflows.sql.ts'

export type WorkflowSummary = WorkflowRow & WorkflowCounts

export type WorkflowQuery = PageRequest & OrderRequest & { search?: string | null | undefined }

/** One page of the workflows of the project, without their graphs. `search` is looked for in name and description. */
export async function listWorkflows(ctx: Ctx, query: WorkflowQuery): Promise<OffsetPage<WorkflowSummary>> {
  const projectId = projectIdOf(ctx)
  const { field, direction } = readOrder(query, ['createdAt', 'name', 'updatedAt'])
  const contains = { contains: escapeLike(query.search ?? ''), mode: 'insensitive' as const }
  const where = {
    projectId,
    deleted: false,
    ...(query.search && { OR: [{ name: contains }, { description: contains }] }),
  }
  return readOffsetPage(query, {
    find: async (range) => {
      const orderBy = [{ [field]: direction }, { id: direction }]
      const page = await ctx.db.workflow.findMany({ ...range, where, orderBy })
      const counts = await ctx.sql(workflowCounts, { projectId, ids: page.map(({ id }) => id) })
      const countsOf = new Map(counts.map((one) => [one.id, one]))
      return page.map((row) => ({ ...NO_COUNTS, ...countsOf.get(row.id), ...row }))
    },
    count: () => ctx.db.workflow.count({ where }),
  })
}

const NO_COUNTS = { stepCount: 0, executionCount: 0, activeExecutionCount: 0 }

/** Keeps what a workflow, as it is in the transaction, refers to. The project's interests are locked. */
async function keepReferences(tx: Ctx, workflow: Workflow): Promise<void> {
  const interests = [
    ...interestsOfTrigger(workflow),
    ...workflow.steps.flatMap(({ type, config }) =>
      STEPS[type].interests(isJsonObject(config) ? config : {}),
    ),
  ]
  await keepInterests(tx, { consumer: 'WORKFLOW', id: workflow.id }, interests)
  // What its steps call is signed.
  if (workflow.steps.some(({ type }) => type === 'WEBHOOK')) await firstSecret(tx)
}

/** Changes a workflow under its lock, and keeps what it refers to afterwards; `change` writes what it likes. */
export async function changeWorkflow<Result>(
  ctx: Ctx,
  id: string,
  change: (tx: Ctx, workflow: Workflow) => Promise<Result>,
): Promise<{ result: Result; workflow: Workflow }> {
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const known = await lockedWorkflow(tx, id)
    const result = await change(tx, known)
    await tx.db.workflow.update({
      where: { projectId_id: { projectId: known.projectId, id } },
      data: { updatedAt: tx.now() },
    })
    const workflow = await getWorkflow(tx, id)
    await keepReferences(tx, workflow)
    return { result, workflow }
  })
}

type NewWorkflow = Pick<WorkflowRow, 'name' | 'description' | 'triggerType' | 'allowReentry'> & {
  triggerConfig: JsonObject
}

/** Creates a workflow, which is not enabled; `fill` gives it its steps. */
async function insertWorkflow(
  ctx: Ctx,
  workflow: NewWorkflow,
  fill: (tx: Ctx, id: string) => Promise<void>,
): Promise<Workflow> {
  const now = ctx.now()
  const id = newId(now)
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    await takeQuota(tx, 'workflows', { field: 'name' })
    const times = { createdAt: now, updatedAt: now }
    await tx.db.workflow.create({ data: { projectId: projectIdOf(tx), id, ...workflow, ...times } })
    await fill(tx, id)
    const created = await getWorkflow(tx, id)
    await keepReferences(tx, created)
    return created
  })
}

/** Creates a workflow with the step at which executions begin. */
export async function createWorkflow(
  ctx: Ctx,
  { name, eventName, description, allowReentry = false }: z.output<typeof createWorkflowInput>,
): Promise<Workflow> {
  const triggerConfig: JsonObject = eventName === undefined ? {} : { eventName }
  const workflow = { name, description: description ?? null, allowReentry, triggerConfig }
  return insertWorkflow(ctx, { ...workflow, triggerType: 'EVENT' }, async (tx, workflowId) => {
    const now = tx.now()
    await tx.db.workflowStep.create({
      data: {
        ...{ projectId: projectIdOf(tx), id: newId(now), workflowId, type: 'TRIGGER' },
        ...{ name: STEPS.TRIGGER.title, position: { x: 0, y: 0 }, createdAt: now, updatedAt: now },
      },
    })
  })
}

/** A new workflow, not enabled, with the trigger and the graph of another one. */
export async function duplicateWorkflow(ctx: Ctx, id: string): Promise<Workflow> {
  const { name, description, triggerType, triggerConfig, allowReentry, steps, transitions } =
    await getWorkflow(ctx, id)
  const copy = {
    ...{ name: copyName(name, MAX_NAME), description, triggerType, allowReentry },
    triggerConfig: isJsonObject(triggerConfig) ? triggerConfig : {},
  }
  return insertWorkflow(ctx, copy, async (tx, workflowId) => {
    const now = tx.now()
    const idOf = new Map(steps.map((step) => [step.id, newId(now)]))
    const stepId = (known: string) => idOf.get(known) ?? known
    const times = { createdAt: now, updatedAt: now }
    await tx.db.workflowStep.createMany({
      data: steps.map(({ config, position, ...step }) => ({
        ...{ ...step, id: stepId(step.id), workflowId, ...times },
        ...{ config: isJsonObject(config) ? config : {}, position: isJsonObject(position) ? position : {} },
      })),
    })
    await tx.db.workflowTransition.createMany({
      data: transitions.map((one) => ({
        ...{ ...one, id: newId(now), workflowId },
        ...{ fromStepId: stepId(one.fromStepId), toStepId: stepId(one.toStepId) },
      })),
    })
  })
}

/** Changes the given fields. To enable it, nothing may be wrong with it: all of that is told at once. */
export async function updateWorkflow(
  ctx: Ctx,
  id: string,
  { triggerConfig, ...input }: z.output<typeof updateWorkflowInput>,
): Promise<Workflow> {
  const { workflow } = await changeWorkflow(ctx, id, async (tx, known) => {
    const triggerType = input.triggerType ?? known.triggerType
    const emptied = triggerType === known.triggerType ? undefined : {}
    const config = triggerConfig ?? emptied
    const kept = config && (await checkTrigger(tx, triggerType, config))
    await tx.db.workflow.update({
      where: { projectId_id: { projectId: known.projectId, id } },
      data: given({ ...input, triggerConfig: kept }),
    })
    const changed = await getWorkflow(tx, id)
    if (changed.enabled) await assertRunnable(tx, changed)
    await keepSchedule(tx, known, changed)
  })
  return workflow
}

/** Begins the schedule of a workflow anew, unless it is the same as before; one that has none is not looked at. */
async function keepSchedule(tx: Ctx, known: Workflow, changed: Workflow): Promise<void> {
  const scheduleOf = ({ enabled, triggerType, triggerConfig }: Workflow) =>
    enabled && triggerType === 'SCHEDULE' ? triggerConfig : null
  const schedule = scheduleOf(changed)
  if (isDeepStrictEqual(schedule, scheduleOf(known))) return
  const nextAt = schedule === null ? null : nextRun(schedule, tx.now())
  await tx.db.workflow.update({
    where: { projectId_id: { projectId: changed.projectId, id: changed.id } },
    data: { nextAt, runFor: null, runAfter: null },
  })
}

async function assertRunnable(tx: Ctx, workflow: Workflow): Promise<void> {
  const errors = (await problemsOf(tx, workflow)).filter(({ severity }) => severity === 'ERROR')
  if (errors.length === 0) return
  throw new AppError('VALIDATION_ERROR', 'The workflow cannot be enabled as it is; see errors.', {
    errors: errors.map(({ field, code, message }) => ({ field, code, message })),
    suggestion: 'validateWorkflow in GraphQL says for each problem which step it is about.',
  })
}

/** Deletes a workflow; its executions, which may be many, go in the background. Its mail stays with the contacts. */
export async function deleteWorkflow(ctx: Ctx, id: string): Promise<void> {
  await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const workflow = await lockedWorkflow(tx, id)
    await assertNoneActive(tx, workflow, 'it cannot be deleted')
    await keepInterests(tx, { consumer: 'WORKFLOW', id }, [])
    const { projectId } = workflow
    await tx.db.workflowStep.updateMany({ where: { projectId, workflowId: id }, data: { templateId: null } })
    await tx.sql(removeLater, { projectId, id, clockShift: tx.services.clockShift() })
    tx.requestWork(workflowAdvancingWork)
  })
}
