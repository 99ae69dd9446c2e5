import type { Config } from '../config.ts'
import { type Ctx, projectIdOf } from '../ctx.ts'
import { AppError } from '../errors.ts'
import { lockQuota, USED_OF } from './quotas.sql.ts'

/** The things of a project that are limited in number or bytes. */
export type Quota = keyof Config['quotas']

const MEGABYTE = 1024 * 1024

/** The texts of each quota: its subject, the variable that sets it, and how to make room. */
const TOLD: Record<Quota, { of: string; variable: string; room: string; unit?: number }> = {
  segments: {
    of: 'segments',
    variable: 'QUOTA_SEGMENTS',
    room: 'Delete segments that are not needed (DELETE /segments/:id)',
  },
  templates: {
    of: 'templates',
    variable: 'QUOTA_TEMPLATES',
    room: 'Delete templates that are not needed (DELETE /templates/:id)',
  },
  domains: {
    of: 'sender domains',
    variable: 'QUOTA_DOMAINS',
    room: 'Delete domains that nothing is sent from (DELETE /domains/:id)',
  },
  campaigns: {
    of: 'campaigns',
    variable: 'QUOTA_CAMPAIGNS',
    room: 'Delete campaigns that are over (DELETE /campaigns/:id)',
  },
  workflows: {
    of: 'workflows',
    variable: 'QUOTA_WORKFLOWS',
    room: 'Delete workflows that are not needed (DELETE /workflows/:id)',
  },
  eventNames: {
    of: 'names of events, those of the service itself among them',
    variable: 'QUOTA_EVENT_NAMES',
    room: 'Use existing names with the difference in data, or delete events of a name (DELETE /events/:eventName)',
  },
  contactFields: {
    of: 'custom fields of contacts',
    variable: 'QUOTA_CONTACT_FIELDS',
    room: 'Use existing fields, or delete one (DELETE /contacts/fields/:field)',
  },
  images: {
    of: 'uploaded images',
    variable: 'QUOTA_IMAGES',
    room: 'Delete images that no mail shows any more (DELETE /uploads/image/:key)',
  },
  imageBytes: {
    of: 'MB of uploaded images',
    variable: 'QUOTA_IMAGE_MB',
    room: 'Delete images that no mail shows any more (DELETE /uploads/image/:key)',
    unit: MEGABYTE,
  },
}

/** The 422 of a quota, with the fields of the input that ask for more than it leaves. */
export function quotaReached(config: Config, quota: Quota, fields: string[]): AppError {
  const { of, variable, room, unit = 1 } = TOLD[quota]
  const limit = config.quotas[quota] / unit
  const message = `would pass the quota of the project: ${limit} ${of}`
  return new AppError('VALIDATION_ERROR', `The quota of the project is ${limit} ${of}.`, {
    errors: fields.map((field) => ({ field, message, code: 'custom' })),
    details: { reason: 'quota_reached', quota, limit },
    suggestion: `${room}. The operator of the service raises the quota with ${variable}.`,
  })
}

/**
 * Makes others that need the same quota of the project wait until the commit: a count after it stays true,
 * and the quota is exact, however many requests run at once.
 */
export async function lockQuotaOf(tx: Ctx, quota: string): Promise<void> {
  await tx.sql(lockQuota, { projectId: projectIdOf(tx), quota })
}

/**
 * Throws VALIDATION_ERROR, at the named field of the input, unless the project may have this many more. In
 * the transaction that creates them, after `lockQuotaOf`, the quota is exact; before it this call spares
 * useless work.
 */
export async function assertQuota(
  ctx: Ctx,
  quota: keyof typeof USED_OF,
  { field, more = 1 }: { field: string; more?: number },
): Promise<void> {
  const limit = ctx.config.quotas[quota]
  if (limit === 0) return
  const [row] = await ctx.sql(USED_OF[quota], { projectId: projectIdOf(ctx) })
  if ((row?.used ?? 0) + more > limit) throw quotaReached(ctx.config, quota, [field])
}

/** Locks the quota until the commit of the transaction that uses it, and asserts it. */
export async function takeQuota(
  tx: Ctx,
  quota: keyof typeof USED_OF,
  asked: { field: string; more?: number },
): Promise<void> {
  if (tx.config.quotas[quota] === 0) return
  await lockQuotaOf(tx, quota)
  await assertQuota(tx, quota, asked)
}
