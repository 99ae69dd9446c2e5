import { setTimeout as pause } from 'node:timers/promises'
import type { Services } from '../../ctx.ts'
import { sqlState } from '../../db/sql.ts'
import { newId } from '../../lib/ids.ts'
import { type ClaimedEmail, settleDeliveries } from './delivery.sql.ts'
import type { Outcome } from './delivery.ts'

const RETRY_MS = 1_000
/** SQLSTATE classes that say that the values are at fault: the same statement will never succeed. */
const BAD_VALUES = /^2[23]/

const hasBadValues = (error: unknown): boolean => BAD_VALUES.test(sqlState(error) ?? '')

/** `untried` is 1 for a message that is given back without an attempt. */
type Settled = { email: ClaimedEmail; outcome: Outcome; untried: 0 | 1 }

/**
 * Writes down what has become of a worker's messages. An outcome is kept until the database has it: losing one
 * would send the message again.
 */
export class Settler {
  readonly #services: Services
  readonly #claimId: string
  readonly #release: (email: ClaimedEmail) => void
  #finished: Settled[] = []
  #settling: Promise<void> | null = null
  #givenUp = false

  /** `release` is called with each message that is no longer the worker's. */
  constructor(services: Services, claimId: string, release: (email: ClaimedEmail) => void) {
    this.#services = services
    this.#claimId = claimId
    this.#release = release
  }

  /** The message was handed over, or will not be. */
  finish(email: ClaimedEmail, outcome: Outcome): void {
    this.#add({ email, outcome, untried: 0 })
  }

  /** The message was only claimed: it waits as before, and no attempt is counted. */
  giveBack(email: ClaimedEmail): void {
    const { dueAt } = email
    const outcome: Outcome = { status: 'PENDING', providerMessageId: null, error: null, dueAt, event: null }
    this.#add({ email, outcome, untried: 1 })
  }

  /** Ends the trying. What is not settled is sent again when its lease has run out. */
  giveUp(): void {
    this.#givenUp = true
    this.#finished = []
  }

  #add(settled: Settled): void {
    if (this.#givenUp) return
    this.#finished.push(settled)
    // #settleAll catches everything itself.
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null
    })
  }

  /** What finishes while a statement runs is settled by the next one, so a busy worker settles in batches. */
  async #settleAll(): Promise<void> {
    while (this.#finished.length > 0) {
      const batch = this.#finished
      this.#finished = []
      try {
        await this.#settle(batch)
      } catch (error) {
        if (hasBadValues(error)) await this.#settleEach(batch)
        else await this.#tryLater(batch, error)
      }
    }
  }

  async #tryLater(batch: Settled[], error: unknown): Promise<void> {
    if (this.#givenUp) return
    this.#services.log.warn({ err: error }, 'deliveries could not be settled; trying again')
    await pause(RETRY_MS)
    if (!this.#givenUp) this.#finished.push(...batch)
  }

  /** One outcome that the database refuses must not keep the others, and all mail behind them, waiting. */
  async #settleEach(batch: Settled[]): Promise<void> {
    for (const settled of batch) {
      try {
        await this.#settle([settled])
      } catch (error) {
        if (!hasBadValues(error)) {
          await this.#tryLater([settled], error)
          continue
        }
        this.#services.log.error({ err: error, emailId: settled.email.id }, 'a delivery cannot be settled')
        this.#release(settled.email)
      }
    }
  }

  async #settle(batch: Settled[]): Promise<void> {
    const now = this.#services.now()
    await this.#services.database.sql(settleDeliveries, [
      this.#claimId,
      now,
      batch.map(({ email }) => email.projectId),
      batch.map(({ email }) => email.id),
      batch.map(({ outcome }) => outcome.status),
      batch.map(({ outcome }) => outcome.providerMessageId),
      batch.map(({ outcome }) => outcome.error),
      batch.map(({ outcome }) => outcome.dueAt),
      batch.map(() => newId(now)),
      batch.map(({ outcome }) => outcome.event?.name ?? null),
      batch.map(({ outcome }) => (outcome.event ? JSON.stringify(outcome.event.data) : null)),
      batch.map(({ untried }) => untried),
    ])
    for (const { email } of batch) this.#release(email)
  }
}
