import type { ProjectIdentity } from './access.ts'
import type { Sql } from './db/sql.ts'
import { AppError } from './errors.ts'
import type { LimitKind } from './generated/prisma/enums.ts'
import { takePermits } from './limits.sql.ts'

/**
 * Takes up to `wanted` permits of a project's limit in the window that `now` is in. The count is in the
 * database, so the limit holds across processes. `limit` 0 means none.
 */
export async function takeFromWindow(
  sql: Sql,
  projectId: string,
  kind: LimitKind,
  window: { limit: number; milliseconds: number },
  wanted: number,
  now: Date,
): Promise<{ granted: number; remaining: number; resetAt: number }> {
  const start = Math.floor(now.getTime() / window.milliseconds) * window.milliseconds
  const [row] = await sql(takePermits, [projectId, kind, new Date(start), wanted])
  if (!row) throw new Error('take-permits returned no row')
  const before = row.used - wanted
  return {
    granted: Math.max(0, Math.min(wanted, window.limit - before)),
    remaining: Math.max(0, window.limit - row.used),
    resetAt: row.windowStart.getTime() + window.milliseconds,
  }
}

const MINUTE = 60_000
/** A process takes this part of what is left at a time, so that far from the limit requests share a statement. */
const LEASE_SHARE = 50
const MAX_LEASES = 10_000

type Lease = { permits: number; remaining: number; resetAt: number; refill: Promise<void> | null }

export type RateLimitState = { limit: number; remaining: number; resetSeconds: number }

/**
 * The request limit per project and minute, held across processes. Each process takes small leases from the
 * shared window and serves requests from them; near the limit a lease is one request, so that the limit is
 * exact where it matters and costs nothing where it does not.
 */
export class RateLimiter {
  readonly #sql: Sql
  readonly #defaultLimit: number
  readonly #leases = new Map<string, Lease>()

  constructor(sql: Sql, defaultLimit: number) {
    this.#sql = sql
    this.#defaultLimit = defaultLimit
  }

  /** Counts one request. Null when the project has no limit; throws RATE_LIMIT_EXCEEDED. */
  async count(project: ProjectIdentity, now: Date): Promise<RateLimitState | null> {
    const limit = project.rateLimitPerMinute ?? this.#defaultLimit
    if (limit === 0) return null
    const lease = this.#leaseOf(project.id)
    while (lease.permits === 0 || lease.resetAt <= now.getTime()) {
      const exhausted = lease.resetAt > now.getTime() && lease.remaining === 0
      if (exhausted) throw this.#exceeded(limit, lease.resetAt, now)
      lease.refill ??= this.#refill(project.id, lease, limit, now).finally(() => {
        lease.refill = null
      })
      await lease.refill
    }
    lease.permits -= 1
    return {
      limit,
      remaining: lease.remaining + lease.permits,
      resetSeconds: secondsUntil(lease.resetAt, now),
    }
  }

  async #refill(projectId: string, lease: Lease, limit: number, now: Date): Promise<void> {
    const known = lease.resetAt > now.getTime() ? lease.remaining : 0
    const wanted = Math.max(1, Math.floor(known / LEASE_SHARE))
    const window = { limit, milliseconds: MINUTE }
    const taken = await takeFromWindow(this.#sql, projectId, 'REQUESTS', window, wanted, now)
    lease.permits = taken.granted
    lease.remaining = taken.granted === 0 ? 0 : taken.remaining
    lease.resetAt = Math.max(taken.resetAt, now.getTime() + 1)
  }

  #leaseOf(projectId: string): Lease {
    const known = this.#leases.get(projectId)
    if (known) return known
    // Losing the leases of idle projects costs each of them one statement.
    if (this.#leases.size >= MAX_LEASES) this.#leases.clear()
    const lease: Lease = { permits: 0, remaining: 0, resetAt: 0, refill: null }
    this.#leases.set(projectId, lease)
    return lease
  }

  #exceeded(limit: number, resetAt: number, now: Date): AppError {
    const seconds = secondsUntil(resetAt, now)
    return new AppError('RATE_LIMIT_EXCEEDED', `More than ${limit} requests in a minute for this project.`, {
      suggestion: `Try again in ${seconds} seconds.`,
      headers: {
        'retry-after': String(seconds),
        ...rateLimitHeaders({ limit, remaining: 0, resetSeconds: seconds }),
      },
    })
  }
}

const secondsUntil = (time: number, now: Date) => Math.max(1, Math.ceil((time - now.getTime()) / 1000))

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'ratelimit-limit': String(state.limit),
  'ratelimit-remaining': String(state.remaining),
  'ratelimit-reset': String(state.resetSeconds),
})
