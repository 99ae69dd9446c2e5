import { PRIORITIES, type Priority } from '../../../queue/priorities.ts'
import { type Addresses, wayOf } from './destination.ts'

const LONGEST_MS = 10 * 60_000
const MAX_ENTRIES = 10_000

/** Mail of campaigns that a pause put off leaves so many milliseconds apart, behind all other mail. */
const APART_MS = 20
/** The last of it follows so long after the pause at most. */
const LONGEST_QUEUE_MS = 60 * 60_000

type Slow = { failures: number; until: number; putOff: number }

/**
 * Which destinations have asked a sender to slow down. Receivers judge by the sender's domain, so each has pauses of its
 * own: nobody's mail slows down others'. A process knows what it was told itself; with several of them each finds out by
 * the messages that it has under way, and no message pays for asking the others.
 */
export class DestinationPauses {
  readonly #firstMs: number
  readonly #now: () => number
  readonly #slow = new Map<string, Slow>()

  /** `firstMs` is the length of the first pause; 0 for none. `now` returns milliseconds. */
  constructor(firstMs: number, now: () => number) {
    this.#firstMs = firstMs
    this.#now = now
  }

  /** Milliseconds for which the message is put off; null when it may be handed over. */
  putOff(email: Addresses, priority: Priority): number | null {
    if (this.#slow.size === 0) return null
    const slow = this.#slow.get(wayOf(email))
    const leftMs = (slow?.until ?? 0) - this.#now()
    if (!slow || leftMs <= 0) return null
    if (priority !== PRIORITIES.campaign) return leftMs
    slow.putOff += 1
    return leftMs + Math.min(slow.putOff * APART_MS, LONGEST_QUEUE_MS)
  }

  /** Returns the milliseconds of the pause that begins; null when none does. Pauses double while the answer stays. */
  askedToSlowDown(email: Addresses): number | null {
    if (this.#firstMs === 0) return null
    const key = wayOf(email)
    const before = this.#slow.get(key)
    const now = this.#now()
    // Messages that were under way fail one after the other; that is one failure.
    if (before && before.until > now) return null
    const failures = (before?.failures ?? 0) + 1
    const pauseMs = Math.min(this.#firstMs * 2 ** (failures - 1), LONGEST_MS)
    this.#slow.delete(key)
    const [oldest] = this.#slow.keys()
    if (this.#slow.size >= MAX_ENTRIES && oldest !== undefined) this.#slow.delete(oldest)
    this.#slow.set(key, { failures, until: now + pauseMs, putOff: 0 })
    return pauseMs
  }

  /** A message that arrives during a pause was under way when it began. */
  accepted(email: Addresses): void {
    if (this.#slow.size === 0) return
    const key = wayOf(email)
    if ((this.#slow.get(key)?.until ?? Number.POSITIVE_INFINITY) <= this.#now()) this.#slow.delete(key)
  }
}
