import type { z } from 'zod'
import { workflowAdvancingWork } from '../../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { violates } from '../../../db/sql.ts'
import { conflict, fieldError, notFound } from '../../../errors.ts'
import type { StepExecution, WorkflowExecution } from '../../../generated/prisma/client.ts'
import type { ExecutionStatus } from '../../../generated/prisma/enums.ts'
import { earliestId, isId, newId } from '../../../lib/ids.ts'
import { readLarge } from '../../../paging/large-list.ts'
import { type OffsetPage, type PageRequest, readOffsetPage } from '../../../paging/offset-page.ts'
import { PRIORITIES } from '../../../queue/priorities.ts'
import { MAX_DATA_BYTES } from '../../contacts/contact-data.rules.ts'
import { findContact } from '../../contacts/contacts.ts'
import { executionTotal } from '../counts/counts.sql.ts'
import { assertWorkflow, getWorkflow } from '../find-workflow.ts'
import type { startExecutionInput } from './executions.input.ts'
import {
  cancelExecutions,
  executionSizes,
  MAX_ENTRIES,
  purgeExecutions,
  retryExecution,
  startExecutions,
} from './executions.sql.ts'

/** An execution with what has become of its steps. */
export type Execution = WorkflowExecution & { stepExecutions: StepExecution[] }

const executionNotFound = () => notFound('The execution')

/** Where an execution is named. */
export type ExecutionKey = { workflowId: string; executionId: string }

/**
 * Starts an execution for a contact, whatever the trigger of the workflow is. Throws CONFLICT when it is not enabled and
 * when the contact may not enter.
 */
export async function startExecution(
  ctx: Ctx,
  workflowId: string,
  { contactId, context = {} }: z.output<typeof startExecutionInput>,
): Promise<Execution> {
  const text = JSON.stringify(context)
  if (Buffer.byteLength(text) > MAX_DATA_BYTES) {
    throw fieldError('context', 'too_big', `must not take more than ${MAX_DATA_BYTES} bytes`)
  }
  const { enabled, allowReentry } = await getWorkflow(ctx, workflowId)
  if (!enabled) throw conflict('The workflow is not enabled; enable it first (PATCH /workflows/:id).')
  const contact = await findContact(ctx, { id: contactId })
  const [started] = await ctx.sql(startExecutions, {
    projectId: projectIdOf(ctx),
    ids: [newId(ctx.now())],
    workflowIds: [workflowId],
    contactIds: [contact.id],
    eventIds: [null],
    context: text,
    clockShift: ctx.services.clockShift(),
  })
  if (!started) {
    throw conflict(
      allowReentry
        ? `The contact is in the workflow at present, or has entered it ${MAX_ENTRIES} times within an hour.`
        : 'The contact has entered the workflow before, which does not allow it again (allowReentry).',
    )
  }
  ctx.requestWork(workflowAdvancingWork, PRIORITIES.workflow)
  return getExecution(ctx, { workflowId, executionId: started.id })
}

/** Throws RESOURCE_NOT_FOUND. */
export async function getExecution(ctx: Ctx, { workflowId, executionId }: ExecutionKey): Promise<Execution> {
  await assertWorkflow(ctx, workflowId)
  if (!isId(executionId)) throw executionNotFound()
  const execution = await ctx.db.workflowExecution.findFirst({
    where: { projectId: projectIdOf(ctx), id: executionId, workflowId },
    include: { stepExecutions: { orderBy: [{ startedAt: 'asc' }, { id: 'asc' }] } },
  })
  if (!execution) throw executionNotFound()
  return execution
}

export type ExecutionQuery = PageRequest & { status?: ExecutionStatus | null | undefined }

/** One page of the executions of a workflow, the newest first. */
export async function listExecutions(
  ctx: Ctx,
  workflowId: string,
  query: ExecutionQuery,
): Promise<OffsetPage<WorkflowExecution>> {
  await assertWorkflow(ctx, workflowId)
  const projectId = projectIdOf(ctx)
  const where = { projectId, workflowId, ...(query.status && { status: query.status }) }
  return readOffsetPage(query, {
    find: async (range) => {
      const page = await ctx.db.workflowExecution.findMany({
        ...{ ...range, where, orderBy: { id: 'desc' }, select: { id: true } },
      })
      const sizes = await ctx.sql(executionSizes, { projectId, ids: page.map(({ id }) => id) })
      const read = (ids: string[]) =>
        ctx.db.workflowExecution.findMany({ where: { projectId, id: { in: ids } } })
      return readLarge(ctx, { records: sizes, read })
    },
    count: async () => {
      const counted = { projectId, id: workflowId, status: query.status ?? null }
      return (await ctx.sql(executionTotal, counted))[0]?.total ?? 0
    },
  })
}

/** Stops an execution for good. Throws CONFLICT when it is over. */
export async function cancelExecution(ctx: Ctx, key: ExecutionKey): Promise<void> {
  const { id, status } = await getExecution(ctx, key)
  const cancelled = await cancel(ctx, key.workflowId, { id, limit: 1 })
  if (cancelled > 0) return
  const after = status === 'RUNNING' || status === 'WAITING' ? await getExecution(ctx, key) : { status }
  throw conflict(`An execution that is ${after.status} is over and cannot be cancelled.`)
}

const cancel = async (ctx: Ctx, workflowId: string, some: { id: string | null; limit: number }) => {
  const clockShift = ctx.services.clockShift()
  return (await ctx.sql(cancelExecutions, { projectId: projectIdOf(ctx), workflowId, ...some, clockShift }))
    .length
}

/** Executions that one statement cancels. */
const CHUNK = 2_000

/** Stops every execution of a workflow that is active, and returns how many. */
export async function cancelAllExecutions(ctx: Ctx, workflowId: string): Promise<number> {
  await assertWorkflow(ctx, workflowId)
  for (let total = 0; ; ) {
    const cancelled = await cancel(ctx, workflowId, { id: null, limit: CHUNK })
    total += cancelled
    if (cancelled < CHUNK) return total
  }
}

/** Has an execution that has failed try the step again. */
export async function retryFailedExecution(ctx: Ctx, key: ExecutionKey): Promise<Execution> {
  const { workflowId, executionId } = key
  await getExecution(ctx, key)
  const [retried] = await ctx
    .sql(retryExecution, {
      ...{ projectId: projectIdOf(ctx), workflowId, id: executionId, clockShift: ctx.services.clockShift() },
    })
    .catch((error: unknown) => {
      // The contact has entered anew in this very moment.
      if (violates(error, 'workflow_executions_active')) return []
      throw error
    })
  if (!retried) {
    throw conflict(
      'Only an execution that has failed can be tried again, as long as its step is there and its contact is not in the workflow anew.',
    )
  }
  ctx.requestWork(workflowAdvancingWork, PRIORITIES.workflow)
  return getExecution(ctx, key)
}

/** Removes executions that were over before a time, and returns how many, at most `limit`. */
export async function deleteExecutionsBefore(ctx: Ctx, before: Date, limit: number): Promise<number> {
  const found = await ctx.sql(purgeExecutions, {
    ...{ projectId: projectIdOf(ctx), firstKept: earliestId(before), before, limit },
  })
  return found.length
}
