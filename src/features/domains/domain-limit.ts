import { secondsUntil, takeFromWindow, tooManyRequests } from '../../admission/limits.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'

/** Checks, new domains and new keys of a project in a minute: a check asks servers of others, and a key takes 0.1 s of a core or more. */
const PER_MINUTE = 60
const MINUTE_MS = 60_000

/** Counts work on domains that a caller has asked for. Throws RATE_LIMIT_EXCEEDED. */
export async function takeDomainWork(ctx: Ctx): Promise<void> {
  const now = ctx.now()
  const window = { limit: PER_MINUTE, publicShare: null, milliseconds: MINUTE_MS }
  const taken = await takeFromWindow(ctx.sql, projectIdOf(ctx), 'DOMAIN_CHECKS', window, 1, now)
  if (taken.granted > 0) return
  const resetSeconds = secondsUntil(taken.resetAt, now)
  throw tooManyRequests(
    `More than ${PER_MINUTE} checks, new domains and new keys in a minute for this project.`,
    { limit: PER_MINUTE, remaining: 0, resetSeconds },
    `Try again in ${resetSeconds} seconds. Domains are checked every 5 minutes without being asked.`,
  )
}
