import type { ProjectIdentity } from './access.ts'
import type { Sql } from './db/sql.ts'
import { AppError } from './errors.ts'
import type { LimitKind } from './generated/prisma/enums.ts'
import { takePermits } from './limits.sql.ts'

/**
 * How far the clocks of processes may be apart. A window that begins later was made by a clock that was wrong;
 * waiting for its end could take days.
 */
const CLOCK_TOLERANCE_MS = 120_000

/**
 * Takes up to `wanted` permits of a project's limit in the window that `now` is in. The count is in the
 * database, so the limit holds across processes.
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
  const latest = new Date(start + CLOCK_TOLERANCE_MS)
  const [row] = await sql(takePermits, [projectId, kind, new Date(start), wanted, latest])
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

type Lease = {
  /** The limit that the permits were taken under. */
  limit: number
  permits: number
  /** Left in the window beside these permits, when they were taken. */
  remaining: number
  resetAt: number
  refill: Promise<void> | null
}

export type RateLimitState = { limit: number; remaining: number; resetSeconds: number }

/**
 * The request limit per project and minute, held across processes. Each process takes small leases from the
 * shared window and serves requests from them; near the limit a lease is one request. So the limit costs
 * nothing far from it, is never passed, and is exact below LEASE_SHARE * 2; above, permits that an idle process
 * holds can be missing, one in LEASE_SHARE at most.
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
    while (lease.permits === 0 || !isCurrent(lease, limit, now)) {
      if (isCurrent(lease, limit, now) && lease.remaining === 0) throw exceeded(limit, lease.resetAt, now)
      lease.refill ??= this.#refill(project.id, lease, limit, now).finally(() => {
        lease.refill = null
      })
      await lease.refill
    }
    lease.permits -= 1
    const remaining = lease.remaining + lease.permits
    return { limit, remaining, resetSeconds: secondsUntil(lease.resetAt, now) }
  }

  async #refill(projectId: string, lease: Lease, limit: number, now: Date): Promise<void> {
    const known = isCurrent(lease, limit, now) ? lease.remaining : 0
    const wanted = Math.max(1, Math.floor(known / LEASE_SHARE))
    const window = { limit, milliseconds: MINUTE }
    const taken = await takeFromWindow(this.#sql, projectId, 'REQUESTS', window, wanted, now)
    lease.limit = limit
    lease.permits = taken.granted
    lease.remaining = taken.remaining
    lease.resetAt = taken.resetAt
  }

  #leaseOf(projectId: string): Lease {
    const known = this.#leases.get(projectId)
    if (known) return known
    // Losing the leases of idle projects costs each of them one statement.
    if (this.#leases.size >= MAX_LEASES) this.#leases.clear()
    const lease: Lease = { limit: 0, permits: 0, remaining: 0, resetAt: 0, refill: null }
    this.#leases.set(projectId, lease)
    return lease
  }
}

/** A lease ends with its window, when the project's limit changes, and when the clock was set back. */
const isCurrent = ({ limit, resetAt }: Lease, currentLimit: number, now: Date): boolean =>
  limit === currentLimit && resetAt > now.getTime() && resetAt <= now.getTime() + MINUTE + CLOCK_TOLERANCE_MS

function exceeded(limit: number, resetAt: number, now: Date): AppError {
  const seconds = secondsUntil(resetAt, now)
  return new AppError('RATE_LIMIT_EXCEEDED', `More than ${limit} requests in a minute for this project.`, {
    suggestion: `Try again in ${seconds} seconds.`,
    headers: {
      'retry-after': String(seconds),
      ...rateLimitHeaders({ limit, remaining: 0, resetSeconds: seconds }),
    },
  })
}

const secondsUntil = (time: number, now: Date) => Math.max(1, Math.ceil((time - now.getTime()) / 1000))

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'ratelimit-limit': String(state.limit),
  'ratelimit-remaining': String(state.remaining),
  'ratelimit-reset': String(state.resetSeconds),
})
