import type { Sql } from '../db/sql.ts'
import { AppError } from '../errors.ts'
import type { LimitKind } from '../generated/prisma/enums.ts'
import type { ProjectIdentity } from './access.sql.ts'
import { takePermits } from './limits.sql.ts'

/**
 * How far the clocks of processes may be apart. A window that begins later was created by a wrong clock;
 * waiting for its end could take days.
 */
const CLOCK_TOLERANCE_MS = 120_000

/**
 * A window of a limit. With a `publicShare` the permits are for the public key, which has at most this many
 * of them.
 */
type Window = { limit: number; publicShare: number | null; milliseconds: number }

/**
 * Takes up to `wanted` permits of a project's limit in the window that `now` is in. The count is in the
 * database, so the limit holds across processes.
 */
export async function takeFromWindow(
  sql: Sql,
  projectId: string,
  kind: LimitKind,
  { limit, publicShare, milliseconds }: Window,
  wanted: number,
  now: Date,
): Promise<{ granted: number; remaining: number; resetAt: number }> {
  const start = Math.floor(now.getTime() / milliseconds) * milliseconds
  const [row] = await sql(takePermits, {
    projectId,
    kind,
    windowStart: new Date(start),
    latest: new Date(start + CLOCK_TOLERANCE_MS),
    wanted,
    publicShare,
  })
  if (!row) throw new Error('take-permits returned no row')
  const shareLeft = publicShare === null ? limit : publicShare - row.publicUsed
  const taken = Math.max(0, Math.min(wanted, shareLeft + wanted))
  return {
    granted: Math.max(0, Math.min(taken, limit - (row.used - taken))),
    remaining: Math.max(0, Math.min(limit - row.used, shareLeft)),
    resetAt: row.windowStart.getTime() + milliseconds,
  }
}

/** The share of a limit for the public key, which anyone can read in a page: the server keeps the rest. */
export const publicShareOf = (limit: number): number => Math.floor((limit * 4) / 5)

const MINUTE = 60_000
/**
 * A process takes this part of the remaining permits at a time, so that far from the limit requests share a
 * statement.
 */
const LEASE_SHARE = 50
const MAX_LEASES = 10_000

type Lease = {
  /** The limit of the project that the permits were taken under. */
  limit: number
  permits: number
  /** Left in the window beside these permits, when they were taken. */
  remaining: number
  resetAt: number
  refill: Promise<void> | null
}

export type RateLimitState = { limit: number; remaining: number; resetSeconds: number }

/** Whose request is counted, and as how many. */
export type CountedAs = { keyKind?: 'public' | 'secret'; cost?: number }

/**
 * The request limit per project and minute, held across processes. Each process takes small leases from the
 * shared window and serves requests from them; near the limit a lease is one request. So the limit costs
 * nothing far from it, is never passed, and is exact below LEASE_SHARE * 2; above, permits that an idle process
 * holds can be missing, one in LEASE_SHARE at most. The public key has leases of its own, of its share.
 */
export class RateLimiter {
  readonly #sql: Sql
  readonly #defaultLimit: number
  readonly #leases = new Map<string, Lease>()

  constructor(sql: Sql, defaultLimit: number) {
    this.#sql = sql
    this.#defaultLimit = defaultLimit
  }

  /** Counts a request, as one or as `cost`. Null when the project has no limit; throws RATE_LIMIT_EXCEEDED. */
  async count(
    project: ProjectIdentity,
    now: Date,
    { keyKind = 'secret', cost = 1 }: CountedAs = {},
  ): Promise<RateLimitState | null> {
    const whole = project.rateLimitPerMinute ?? this.#defaultLimit
    if (whole === 0) return null
    const publicShare = keyKind === 'public' ? publicShareOf(whole) : null
    const limit = publicShare ?? whole
    const window: Window = { limit: whole, publicShare, milliseconds: MINUTE }
    const lease = this.#leaseOf(`${keyKind} ${project.id}`)
    while (lease.permits < cost || !isCurrent(lease, whole, now)) {
      const left = lease.permits + lease.remaining
      if (isCurrent(lease, whole, now) && left < cost) throw exceeded(limit, left, lease.resetAt, now)
      lease.refill ??= this.#refill(project.id, lease, window, cost, now).finally(() => {
        lease.refill = null
      })
      await lease.refill
    }
    lease.permits -= cost
    const remaining = lease.remaining + lease.permits
    return { limit, remaining, resetSeconds: secondsUntil(lease.resetAt, now) }
  }

  async #refill(projectId: string, lease: Lease, window: Window, cost: number, now: Date): Promise<void> {
    const isKnown = isCurrent(lease, window.limit, now)
    const missing = isKnown ? cost - lease.permits : cost
    const wanted = Math.max(missing, isKnown ? Math.floor(lease.remaining / LEASE_SHARE) : 0)
    const taken = await takeFromWindow(this.#sql, projectId, 'REQUESTS', window, wanted, now)
    const goesOn = isKnown && taken.resetAt === lease.resetAt
    lease.permits = (goesOn ? lease.permits : 0) + taken.granted
    lease.limit = window.limit
    lease.remaining = taken.remaining
    lease.resetAt = taken.resetAt
  }

  #leaseOf(holder: string): Lease {
    const known = this.#leases.get(holder)
    if (known) return known
    // Losing the leases of idle projects costs each of them one statement.
    if (this.#leases.size >= MAX_LEASES) this.#leases.clear()
    const lease: Lease = { limit: 0, permits: 0, remaining: 0, resetAt: 0, refill: null }
    this.#leases.set(holder, lease)
    return lease
  }
}

/** A lease ends with its window, when the project's limit changes, and when the clock was set back. */
const isCurrent = ({ limit, resetAt }: Lease, currentLimit: number, now: Date): boolean =>
  limit === currentLimit && resetAt > now.getTime() && resetAt <= now.getTime() + MINUTE + CLOCK_TOLERANCE_MS

function exceeded(limit: number, remaining: number, resetAt: number, now: Date): AppError {
  const seconds = secondsUntil(resetAt, now)
  return tooManyRequests(
    `More than ${limit} requests in a minute for this project and kind of key.`,
    { limit, remaining, resetSeconds: seconds },
    `Try again in ${seconds} seconds. In GraphQL each root field counts as a request.`,
  )
}

/** The refusal of a caller that asks too often, with the headers that say when to ask again. */
export const tooManyRequests = (message: string, state: RateLimitState, suggestion: string): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', message, {
    suggestion,
    headers: { 'retry-after': String(state.resetSeconds), ...rateLimitHeaders(state) },
  })

export const secondsUntil = (time: number, now: Date) => Math.max(1, Math.ceil((time - now.getTime()) / 1000))

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'ratelimit-limit': String(state.limit),
  'ratelimit-remaining': String(state.remaining),
  'ratelimit-reset': String(state.resetSeconds),
})
