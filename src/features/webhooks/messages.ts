import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, notFound } from '../../errors.ts'
import type { WebhookAttempt, WebhookMessage } from '../../generated/prisma/client.ts'
import type { WebhookStatus } from '../../generated/prisma/enums.ts'
import { isId } from '../../lib/ids.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import { replayCall } from './messages.sql.ts'
import { callWork } from './webhook-work.ts'

export type LoggedCall = WebhookMessage & { tries: WebhookAttempt[] }

export type CallsRequest = {
  endpointId?: string | null | undefined
  status?: WebhookStatus | null | undefined
  limit?: number | null | undefined
  cursor?: string | null | undefined
}

/** The newest first, which their ids say. */
const ORDER = 'id desc'
const WITH_TRIES = { tries: { orderBy: { id: 'asc' } } } as const

/** A page of the log of calls, with every try of each. */
export async function listCalls(
  ctx: Ctx,
  { endpointId, status, limit: asked, cursor }: CallsRequest,
): Promise<CursorPage<LoggedCall> & { countTotal: () => Promise<number> }> {
  const limit = pageLimit(asked)
  const before = cursor ? keyOfCursor(cursor, ORDER, isId) : null
  const where = { projectId: projectIdOf(ctx), ...(endpointId && { endpointId }), ...(status && { status }) }
  const rows = await ctx.db.webhookMessage.findMany({
    where: { ...where, ...(before !== null && { id: { lt: before } }) },
    orderBy: { id: 'desc' },
    take: limit + 1,
    include: WITH_TRIES,
  })
  const countTotal = async () => (before === null ? ctx.db.webhookMessage.count({ where }) : 0)
  return { ...pageFrom(rows, limit, (last) => cursorAfter(ORDER, last.id)), countTotal }
}

export async function getCall(ctx: Ctx, id: string): Promise<LoggedCall> {
  const where = { projectId_id: { projectId: projectIdOf(ctx), id } }
  const call = await ctx.db.webhookMessage.findUnique({ where, include: WITH_TRIES })
  if (!call) throw notFound('The webhook call')
  return call
}

/** Has a call that has ended be made again: the same content with the same id. Throws CONFLICT while it waits. */
export async function replay(ctx: Ctx, id: string): Promise<LoggedCall> {
  const params = { projectId: projectIdOf(ctx), id, clockShift: ctx.services.clockShift() }
  const [replayed] = await ctx.sql(replayCall, params)
  const call = await getCall(ctx, id)
  if (!replayed) throw conflict('This call is waiting to be made already. Its `dueAt` says when.')
  ctx.requestWork(callWork)
  return call
}
