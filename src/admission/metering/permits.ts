import type { Logger } from 'pino'
import type { Sql } from '../../db/sql.ts'
import { AppError } from '../../errors.ts'
import type { BillingCategory } from '../../generated/prisma/enums.ts'
import { giveMailPermitsBack, type Metered, takeMailPermits } from './permits.sql.ts'

/** A process takes this part of what is left of a cap at a time at most, so that far from it messages share a statement. */
const SHARE = 50
/** Milliseconds for which a process holds permits that it does not use, or knows that there is no cap. */
const HELD_MS = 5_000
/** Permits that were used up in this time are followed by twice as many, in milliseconds. */
const BUSY_MS = 1_000
const MAX_LEASES = 10_000
const MOST_WANTED = 1_000_000

type Lease = {
  month: string
  permits: number
  isCapped: boolean
  /** How many permits were wanted, and when by the clock of the process that nobody sets. */
  wanted: number
  takenAt: number
  refill: Promise<unknown> | null
}

/** Permits for fewer than `least` messages are of no use. */
type Wanted = { least: number; count: number }
type Refusal = { limit: number; usage: number }

type Parts = { sql: Sql; log: Logger; clockShift: () => number }

/** The first day of the month of this time, in UTC. */
export const monthOf = (time: Date): string => `${time.toISOString().slice(0, 7)}-01`

/** When the next month begins, in UTC. */
export const nextMonth = (time: Date): Date =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1))

/**
 * The caps of projects on messages in a month, held across processes. Each process takes permits of the row of the month
 * before it stores messages; near the cap as many as it needs, so the cap is never passed. Far from it the permits of busy
 * processes grow, to a fiftieth of the rest, and what is not used goes back after five seconds. Without a cap the only cost
 * is to look for one every five seconds; so a cap that is new or lower holds everywhere within that time.
 */
export class MailPermits {
  readonly #parts: Parts
  readonly #leases = new Map<string, Lease>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Takes permits for `count` messages, all or none. Throws BILLING_LIMIT_EXCEEDED. */
  async take(projectId: string, category: BillingCategory, count: number, now: Date): Promise<void> {
    const result = await this.#take(projectId, category, { least: count, count }, now)
    if (typeof result !== 'number') throw exceeded(category, result, now)
  }

  /** Takes permits for up to `count` messages; returns for how many. */
  async takeSome(projectId: string, category: BillingCategory, count: number, now: Date): Promise<number> {
    const result = await this.#take(projectId, category, { least: 1, count }, now)
    return typeof result === 'number' ? result : 0
  }

  /** Gives permits back that were not used. They must have been taken in the last minute. */
  async giveBack(projectId: string, category: BillingCategory, count: number, now: Date): Promise<void> {
    const lease = this.#leases.get(`${category} ${projectId}`)
    if (count === 0 || (lease && !lease.isCapped)) return
    await this.#return({ projectId, category, month: monthOf(now) }, count)
  }

  /** Looks for the caps of a project anew, which were changed. */
  forget(projectId: string): void {
    for (const holder of this.#leases.keys()) if (holder.endsWith(projectId)) this.#leases.delete(holder)
  }

  /** How many permits were taken, or the cap that leaves too few. */
  async #take(
    projectId: string,
    category: BillingCategory,
    wanted: Wanted,
    now: Date,
  ): Promise<number | Refusal> {
    const metered = { projectId, category, month: monthOf(now) }
    const lease = this.#leaseOf(`${category} ${projectId}`)
    for (;;) {
      if (isCurrent(lease, metered.month)) {
        if (!lease.isCapped) return wanted.count
        if (lease.permits >= wanted.least) {
          const taken = Math.min(wanted.count, lease.permits)
          lease.permits -= taken
          return taken
        }
      }
      const refusal = await this.#refillOnce(lease, metered, wanted)
      if (refusal) return refusal
    }
  }

  /** Whoever comes while permits are being taken waits, and looks again. */
  async #refillOnce(lease: Lease, metered: Metered, wanted: Wanted): Promise<Refusal | null> {
    if (lease.refill) {
      await lease.refill
      return null
    }
    const refill = this.#refill(lease, metered, wanted).finally(() => {
      lease.refill = null
    })
    lease.refill = refill.catch(() => {})
    return refill
  }

  async #refill(lease: Lease, metered: Metered, { least, count }: Wanted): Promise<Refusal | null> {
    const { sql, clockShift } = this.#parts
    const rest = lease.permits
    lease.permits = 0
    if (rest > 0) await this.#return({ ...metered, month: lease.month }, rest)
    const takenAt = performance.now()
    const isBusy = lease.month === metered.month && takenAt - lease.takenAt < BUSY_MS
    const wanted = Math.min(MOST_WANTED, Math.max(count, isBusy ? lease.wanted * 2 : 0))
    const [row] = await sql(takeMailPermits, {
      ...metered,
      least,
      wanted,
      share: SHARE,
      clockShift: clockShift(),
    })
    const permits = row?.granted ?? 0
    Object.assign(lease, { month: metered.month, permits, isCapped: row !== undefined, wanted, takenAt })
    if (permits > 0) this.#giveBackLater(lease, metered, takenAt)
    return row && permits < least ? { limit: row.cap, usage: row.used } : null
  }

  /** Leases that are used up, or were refilled since, are left alone. */
  #giveBackLater(lease: Lease, metered: Metered, takenAt: number): void {
    const timer = setTimeout(() => {
      if (lease.takenAt !== takenAt || lease.permits === 0) return
      const count = lease.permits
      lease.permits = 0
      void this.#return(metered, count)
    }, HELD_MS)
    timer.unref()
  }

  /** Permits that cannot be given back are out until nobody has taken any for two minutes. */
  async #return(metered: Metered, count: number): Promise<void> {
    await this.#parts.sql(giveMailPermitsBack, { ...metered, count }).catch((error: unknown) => {
      this.#parts.log.warn({ err: error, ...metered, count }, 'permits of a cap could not be given back')
    })
  }

  #leaseOf(holder: string): Lease {
    const known = this.#leases.get(holder)
    if (known) return known
    // Who holds one goes on with it, and its permits go back by themselves.
    if (this.#leases.size >= MAX_LEASES) this.#leases.clear()
    const lease: Lease = { month: '', permits: 0, isCapped: false, wanted: 0, takenAt: 0, refill: null }
    this.#leases.set(holder, lease)
    return lease
  }
}

const isCurrent = ({ month, takenAt }: Lease, wanted: string): boolean =>
  month === wanted && performance.now() - takenAt < HELD_MS

/** The refusal of messages that a cap leaves no room for. */
export function exceeded(category: BillingCategory, { limit, usage }: Refusal, now: Date): AppError {
  const name = category.toLowerCase()
  return new AppError(
    'BILLING_LIMIT_EXCEEDED',
    `The cap of this project on messages of the category ${name} in a month leaves no room for this: nothing was sent.`,
    {
      details: { category: name, limit, usage, resetsAt: nextMonth(now).toISOString() },
      suggestion:
        'Raise the cap with PUT /users/@me/projects/:id/billing-limits, or wait for the next month (UTC).',
    },
  )
}
