import { randomBytes } from 'node:crypto'
import { hashKey } from '../../admission/access.ts'
import { lockQuotaOf } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict, fieldError, notFound } from '../../errors.ts'
import type { ApiKey } from '../../generated/prisma/client.ts'
import { isId, newId } from '../../lib/ids.ts'
import { recordChange } from '../audit/audit-log.ts'
import type { CreateApiKeyInput } from './api-keys.input.ts'

/** The key in the clear, shown here and never again. */
export type NewApiKey = { key: string; apiKey: ApiKey }

const MAX_KEYS = 50
const HOUR_MS = 3_600_000

/** Further keys of the caller's project, the newest first. */
export const listApiKeys = (ctx: Ctx): Promise<ApiKey[]> =>
  ctx.db.apiKey.findMany({ where: { projectId: projectIdOf(ctx) }, orderBy: { id: 'desc' } })

/** Throws VALIDATION_ERROR for an end that is over, and CONFLICT when the project has too many keys. */
export function createApiKey(ctx: Ctx, { name, scope, expiresAt }: CreateApiKeyInput): Promise<NewApiKey> {
  if (expiresAt && expiresAt <= ctx.now()) {
    throw fieldError('expiresAt', 'invalid_date', 'must be in the future')
  }
  return ctx.atomically(async (tx) => {
    const created = await addKey(tx, { name, scope, expiresAt: expiresAt ?? null })
    const { lastFour } = created.apiKey
    await recordChange(tx, projectIdOf(tx), {
      action: 'apiKey.create',
      target: `${name} (…${lastFour})`,
      changes: { scope, expiresAt: expiresAt?.toISOString() },
    })
    return created
  })
}

type KeyFacts = Pick<ApiKey, 'name' | 'scope' | 'expiresAt'>

async function addKey(tx: Ctx, facts: KeyFacts): Promise<NewApiKey> {
  const projectId = projectIdOf(tx)
  await lockQuotaOf(tx, 'apiKeys')
  const now = tx.now()
  // What has expired needs no room, and no place in the list.
  await tx.db.apiKey.deleteMany({ where: { projectId, expiresAt: { lte: now } } })
  if ((await tx.db.apiKey.count({ where: { projectId } })) >= MAX_KEYS) {
    throw conflict(
      `A project has at most ${MAX_KEYS} keys besides its two. Revoke those that are not needed.`,
    )
  }
  const key = `ak_${randomBytes(32).toString('hex')}`
  const apiKey = await tx.db.apiKey.create({
    data: {
      projectId,
      id: newId(now),
      ...facts,
      hash: new Uint8Array(hashKey(key)),
      lastFour: key.slice(-4),
      createdAt: now,
    },
  })
  return { key, apiKey }
}

/** Makes a new key of the same name and kind; the one before works for `overlapHours` as well. Throws RESOURCE_NOT_FOUND. */
export function rotateApiKey(ctx: Ctx, id: string, overlapHours: number): Promise<NewApiKey> {
  return ctx.atomically(async (tx) => {
    const known = await findKey(tx, id)
    const { name, scope, expiresAt, projectId } = known
    const now = tx.now()
    if (expiresAt && expiresAt <= now) throw conflict('The key has expired. Create a new one.')
    const overlapEnd = new Date(now.getTime() + overlapHours * HOUR_MS)
    const created = await addKey(tx, { name, scope, expiresAt })
    if (!expiresAt || expiresAt > overlapEnd) {
      await tx.db.apiKey.update({
        where: { projectId_id: { projectId, id } },
        data: { expiresAt: overlapEnd },
      })
    }
    await recordChange(tx, projectId, {
      action: 'apiKey.rotate',
      target: `${name} (…${known.lastFour})`,
      changes: { lastFour: created.apiKey.lastFour, overlapHours },
    })
    return created
  })
}

/** The key is refused from this commit on, on every process. Throws RESOURCE_NOT_FOUND. */
export function revokeApiKey(ctx: Ctx, id: string): Promise<ApiKey> {
  return ctx.atomically(async (tx) => {
    const known = await findKey(tx, id)
    const { projectId, name, lastFour } = known
    await tx.db.apiKey.deleteMany({ where: { projectId, id } })
    await recordChange(tx, projectId, { action: 'apiKey.revoke', target: `${name} (…${lastFour})` })
    return known
  })
}

async function findKey(tx: Ctx, id: string): Promise<ApiKey> {
  const projectId = projectIdOf(tx)
  const known = isId(id)
    ? await tx.db.apiKey.findUnique({ where: { projectId_id: { projectId, id } } })
    : null
  if (!known) throw notFound('The key')
  return known
}
