export type TimedTurnsOptions = {
  /** How many may work at the same time. */
  places: number
  /** Places of these that are kept for owners who have used little time lately. */
  reserved: number
  /** Milliseconds of any clock. */
  now?: () => number
}

/** Gives back the place; `usedMs` is the time that the work took. */
export type Leave = (usedMs: number) => void

/** Half of what an owner has used is forgotten in this time, in milliseconds. */
const HALF_LIFE_MS = 10_000
/** Milliseconds: who has used less has used little. */
const LITTLE_MS = 250
/** Most owners whose use is remembered. */
const MAX_OWNERS = 10_000

/**
 * Places for work that cannot be interrupted. Owners have one each. Of the waiting owners, the one that has
 * used the least time goes first, and an owner that has used little finds a place that long work of others
 * cannot take.
 */
export class TimedTurns {
  readonly #places: number
  readonly #reserved: number
  readonly #now: () => number
  readonly #used = new Map<string, { ms: number; at: number }>()
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #working = new Set<string>()

  constructor({ places, reserved, now = () => performance.now() }: TimedTurnsOptions) {
    this.#places = places
    this.#reserved = reserved
    this.#now = now
  }

  /** Waits for its turn. */
  async take(owner: string): Promise<Leave> {
    await new Promise<void>((enter) => {
      const waiting = this.#waiting.get(owner)
      if (waiting) waiting.push(enter)
      else this.#waiting.set(owner, [enter])
      this.#admit()
    })
    return (usedMs) => {
      this.#note(owner, usedMs)
      this.#working.delete(owner)
      this.#admit()
    }
  }

  #usedBy(owner: string): number {
    const { ms, at } = this.#used.get(owner) ?? { ms: 0, at: 0 }
    return ms * 0.5 ** ((this.#now() - at) / HALF_LIFE_MS)
  }

  #note(owner: string, usedMs: number): void {
    const ms = this.#usedBy(owner) + usedMs
    this.#used.delete(owner)
    this.#used.set(owner, { ms, at: this.#now() })
    const [oldest] = this.#used.size > MAX_OWNERS ? this.#used.keys() : []
    if (oldest !== undefined) this.#used.delete(oldest)
  }

  #admit(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const waiting = this.#waiting.get(next) ?? []
      const enter = waiting.shift()
      if (waiting.length === 0) this.#waiting.delete(next)
      this.#working.add(next)
      enter?.()
    }
  }

  /** The owner that may begin; null when none may. */
  #next(): string | null {
    let first: { owner: string; used: number } | null = null
    for (const owner of this.#waiting.keys()) {
      if (this.#working.has(owner)) continue
      const used = this.#usedBy(owner)
      if (first === null || used < first.used) first = { owner, used }
    }
    if (first === null) return null
    const places = first.used < LITTLE_MS ? this.#places : this.#places - this.#reserved
    return this.#working.size < places ? first.owner : null
  }
}
