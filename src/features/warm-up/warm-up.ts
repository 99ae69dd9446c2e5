import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { recordChange } from '../audit/audit-log.ts'
import { mailDeliveryWork } from '../delivery/mail-delivery.ts'
import { findDomain } from '../domains/check-domain.ts'
import { takeDomainWork } from '../domains/domain-limit.ts'
import type { WarmUpInput } from './warm-up.input.ts'
import { bringForward } from './warm-up.sql.ts'

const DAY_MS = 86_400_000
/** Messages that are brought forward in one statement. */
const AT_ONCE = 1_000
/** Stands before all others. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

/** Days are "2030-05-01", in UTC. */
export type WarmUp = {
  from: string | null
  dailyLimits: number[]
  /** Which day today is, from 1 on; null before the first and after the last one, as is `limitToday`. */
  day: number | null
  limitToday: number | null
  sentToday: number
}

/** The warm-up of a domain as it stands today; null without one. */
export async function warmUpOf(
  ctx: Ctx,
  { projectId, domain, warmUp: dailyLimits, warmUpFrom }: Domain,
): Promise<WarmUp | null> {
  if (dailyLimits.length === 0) return null
  const today = dayOf(ctx.now())
  const day = warmUpFrom ? (today.getTime() - warmUpFrom.getTime()) / DAY_MS + 1 : 0
  const limitToday = dailyLimits[day - 1] ?? null
  const counted = await ctx.db.warmUpDay.findUnique({
    where: { projectId_domain_day: { projectId, domain, day: today } },
  })
  return {
    from: warmUpFrom && nameOf(warmUpFrom),
    dailyLimits,
    day: limitToday === null ? null : day,
    limitToday,
    sentToday: counted?.sent ?? 0,
  }
}

/**
 * Sets, changes or ends the warm-up of a domain. Mail that was put off by the one before is looked at again. Throws
 * DOMAIN_NOT_FOUND, or RATE_LIMIT_EXCEEDED.
 */
export async function setWarmUp(ctx: Ctx, domainId: string, input: WarmUpInput): Promise<Domain> {
  const { projectId, id, domain, status, mailboxOnly, warmUpFrom: before } = await findDomain(ctx, domainId)
  await takeDomainWork(ctx)
  const { dailyLimits, from } = input
  const now = ctx.now()
  const begun = before ?? (status === 'VERIFIED' && !mailboxOnly ? dayOf(now) : null)
  const warmUpFrom = dailyLimits.length === 0 ? null : (from ?? begun)
  await ctx.atomically(async (tx) => {
    const changes = { dailyLimits, from: warmUpFrom && nameOf(warmUpFrom) }
    await recordChange(tx, projectId, { action: 'domain.setWarmUp', target: domain, changes })
    await tx.db.domain.updateMany({
      where: { projectId: projectIdOf(tx), id },
      data: { warmUp: dailyLimits, warmUpFrom, updatedAt: now },
    })
  })
  await bringAllForward(ctx, projectId, domain)
  return findDomain(ctx, domainId)
}

/** In commits of their own: what is left of it when the process ends leaves on the day that it was put off to. */
async function bringAllForward(ctx: Ctx, projectId: string, domain: string): Promise<void> {
  const params = { projectId, domain, clockShift: ctx.services.clockShift(), limit: AT_ONCE }
  for (let after: string | null = NO_ID; after !== null; ) {
    const rows: { last: string | null }[] = await ctx.sql(bringForward, { ...params, after })
    after = rows[0]?.last ?? null
  }
  ctx.requestWork(mailDeliveryWork)
}

const dayOf = (time: Date): Date => new Date(nameOf(time))
const nameOf = (time: Date): string => time.toISOString().slice(0, 10)
