import { type Ctx, projectIdOf } from '../../ctx.ts'
import { endedCalls, storeWorkflowCalls } from './messages.sql.ts'
import { callWork } from './webhook-work.ts'

/** A call that a step of a workflow makes; its execution waits for the end. */
export type WorkflowCall = {
  id: string
  executionId: string
  contactId: string
  url: string
  method: string
  headers: Record<string, string>
  /** Empty for none. */
  body: string
}

/** How a call of a step has ended. */
export type EndedCall = { id: string; succeeded: boolean; httpStatus: number | null; error: string | null }

/** Stores calls of steps, to be made after the commit. */
export async function storeCalls(tx: Ctx, calls: WorkflowCall[], now: Date): Promise<void> {
  if (calls.length === 0) return
  const params = { projectId: projectIdOf(tx), rows: JSON.stringify(calls), now }
  await tx.sql(storeWorkflowCalls, { ...params, clockShift: tx.services.clockShift() })
  tx.requestWork(callWork)
}

/** How calls have ended, by their ids; the log may have lost some. */
export async function readEndedCalls(tx: Ctx, ids: string[]): Promise<Map<string, EndedCall>> {
  if (ids.length === 0) return new Map()
  const calls = await tx.sql(endedCalls, { projectId: projectIdOf(tx), ids })
  return new Map(calls.map((call) => [call.id, call]))
}
