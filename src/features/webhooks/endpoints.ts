import { keepInterests, lockInterests } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, notFound } from '../../errors.ts'
import type { WebhookEndpoint } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { recordChange } from '../audit/audit-log.ts'
import { storeTestCall } from './messages.sql.ts'
import { firstSecret } from './secrets.ts'
import { callWork } from './webhook-work.ts'
import type { CreateWebhookEndpointInput, UpdateWebhookEndpointInput } from './webhooks.input.ts'
import { eventsHeard } from './webhooks.rules.ts'

/** Endpoints of a project: each event that several ask for is written once for each. */
const MAX_ENDPOINTS = 50

const keyOf = (ctx: Ctx, id: string) => ({ projectId_id: { projectId: projectIdOf(ctx), id } })

/** The endpoints of the project, the newest first. */
export const listEndpoints = (ctx: Ctx): Promise<WebhookEndpoint[]> =>
  ctx.db.webhookEndpoint.findMany({ where: { projectId: projectIdOf(ctx) }, orderBy: { id: 'desc' } })

async function getEndpoint(ctx: Ctx, id: string): Promise<WebhookEndpoint> {
  const endpoint = await ctx.db.webhookEndpoint.findUnique({ where: keyOf(ctx, id) })
  if (!endpoint) throw notFound('The webhook endpoint')
  return endpoint
}

/** The first one comes with the secret that calls of the project are signed with. Throws CONFLICT when there are too many. */
export function createEndpoint(
  ctx: Ctx,
  input: CreateWebhookEndpointInput,
): Promise<{ endpoint: WebhookEndpoint; secret: string | null }> {
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const projectId = projectIdOf(tx)
    if ((await tx.db.webhookEndpoint.count({ where: { projectId } })) >= MAX_ENDPOINTS) {
      throw conflict(
        `A project has at most ${MAX_ENDPOINTS} webhook endpoints. Delete one, or give one more events.`,
      )
    }
    const [id, now] = [newId(tx.now()), tx.now()]
    const { url, description = null } = input
    const data = { url, description, eventNames: [...new Set(input.eventNames)] }
    const endpoint = await tx.db.webhookEndpoint.create({
      data: { projectId, id, ...data, createdAt: now, updatedAt: now },
    })
    await listen(tx, endpoint)
    await recordChange(tx, projectId, { action: 'webhook.create', target: url, changes: data })
    return { endpoint, secret: await firstSecret(tx) }
  })
}

export function updateEndpoint(
  ctx: Ctx,
  id: string,
  changes: UpdateWebhookEndpointInput,
): Promise<WebhookEndpoint> {
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    await getEndpoint(tx, id)
    const { url, eventNames, description, enabled } = changes
    const endpoint = await tx.db.webhookEndpoint.update({
      where: keyOf(tx, id),
      data: {
        ...(url !== undefined && { url }),
        ...(eventNames !== undefined && { eventNames: [...new Set(eventNames)] }),
        ...(description !== undefined && { description }),
        ...(enabled !== undefined && { enabled, disabledReason: null, failingSince: null }),
        updatedAt: tx.now(),
      },
    })
    await listen(tx, endpoint)
    await recordChange(tx, projectIdOf(tx), { action: 'webhook.update', target: endpoint.url, changes })
    return endpoint
  })
}

/** What waits to be sent to it is given up at its turn; the log stays. */
export function deleteEndpoint(ctx: Ctx, id: string): Promise<WebhookEndpoint> {
  return ctx.atomically(async (tx) => {
    await lockInterests(tx)
    const endpoint = await getEndpoint(tx, id)
    await keepInterests(tx, { consumer: 'WEBHOOK', id }, [])
    await tx.db.webhookEndpoint.delete({ where: keyOf(tx, id) })
    await recordChange(tx, projectIdOf(tx), { action: 'webhook.delete', target: endpoint.url })
    return endpoint
  })
}

/** Sends a call `webhook.test` to an endpoint. Returns its id. */
export async function testEndpoint(ctx: Ctx, endpointId: string): Promise<string> {
  const [now, clockShift] = [ctx.now(), ctx.services.clockShift()]
  const data = { note: 'Nothing has happened: somebody tries this endpoint out.' }
  const body = JSON.stringify({ type: 'webhook.test', timestamp: now.toISOString(), data })
  const call = { projectId: projectIdOf(ctx), id: newId(now), endpointId, body, now, clockShift }
  const [stored] = await ctx.sql(storeTestCall, call)
  if (!stored) throw notFound('The webhook endpoint')
  ctx.requestWork(callWork)
  return stored.id
}

const listen = (tx: Ctx, { id, eventNames, enabled }: WebhookEndpoint): Promise<void> => {
  const heard = enabled ? eventsHeard(eventNames) : []
  const interests = heard.map((name) => ({ kind: 'EVENT' as const, name, listens: true }))
  return keepInterests(tx, { consumer: 'WEBHOOK', id }, interests)
}
