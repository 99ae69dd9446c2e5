import { type Ctx, projectIdOf } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { recordChange } from '../audit/audit-log.ts'
import { newSecret } from './signing.rules.ts'

const HOUR_MS = 3_600_000

/** What calls of the project are signed with at this time: the newest secret first. */
export async function currentSecrets(ctx: Ctx): Promise<string[]> {
  const rows = await ctx.db.webhookSecret.findMany({
    where: { projectId: projectIdOf(ctx), OR: [{ expiresAt: null }, { expiresAt: { gt: ctx.now() } }] },
    orderBy: { id: 'desc' },
  })
  return rows.map(({ secret }) => ctx.config.sealing.open(secret))
}

/** Returns the first secret of the project when it had none yet, else null: it is shown once. */
export async function firstSecret(tx: Ctx): Promise<string | null> {
  const count = await tx.db.webhookSecret.count({ where: { projectId: projectIdOf(tx) } })
  return count > 0 ? null : addSecret(tx)
}

export type RotatedSecret = { secret: string; previousExpireAt: Date }

/**
 * Replaces the secret that calls are signed with. For `overlapHours` they are signed with the one before as well, so that
 * receivers can be changed meanwhile.
 */
export function rotateWebhookSecret(ctx: Ctx, overlapHours: number): Promise<RotatedSecret> {
  return ctx.atomically(async (tx) => {
    const projectId = projectIdOf(tx)
    const now = tx.now()
    const previousExpireAt = new Date(now.getTime() + overlapHours * HOUR_MS)
    await tx.db.webhookSecret.deleteMany({ where: { projectId, expiresAt: { lte: now } } })
    await tx.db.webhookSecret.updateMany({
      where: { projectId, expiresAt: null },
      data: { expiresAt: previousExpireAt },
    })
    await recordChange(tx, projectId, { action: 'webhook.rotateSecret', changes: { overlapHours } })
    return { secret: await addSecret(tx), previousExpireAt }
  })
}

async function addSecret(tx: Ctx): Promise<string> {
  const secret = newSecret()
  await tx.db.webhookSecret.create({
    data: {
      projectId: projectIdOf(tx),
      id: newId(tx.now()),
      secret: tx.config.sealing.seal(secret),
      createdAt: tx.now(),
    },
  })
  return secret
}
