type Waiter = { size: number; owner: string; enter: () => void }

export type SlotsOptions = {
  /** How much one owner may have at a time; all of it by default. */
  perOwner?: number
  /** How much may be held altogether before another request that is not urgent is granted; all of it by default. */
  beforeOthers?: () => number
}

/**
 * A bounded amount of something, such as connections or bytes. Waiting owners take turns, each in its own
 * order; urgent requests go before others. A request for more than an owner's share is granted when the owner
 * holds nothing.
 */
export class Slots {
  readonly #size: number
  readonly #perOwner: number
  readonly #beforeOthers: () => number
  #used = 0
  readonly #usedBy = new Map<string, number>()
  readonly #urgent = new Queue()
  readonly #others = new Queue()

  constructor(size: number, { perOwner = size, beforeOthers = () => size }: SlotsOptions = {}) {
    this.#size = size
    this.#perOwner = perOwner
    this.#beforeOthers = beforeOthers
  }

  /** Waits for `size` of it and returns how to give that back. */
  async take(size: number, owner: string, { urgent = false } = {}): Promise<() => void> {
    await new Promise<void>((enter) => {
      const queue = urgent ? this.#urgent : this.#others
      queue.add({ size, owner, enter })
      this.#admit()
    })
    return this.#givingBack(size, owner)
  }

  /** The same, waiting for at most `waitMs`; null when its turn has not come by then. */
  async takeWithin(waitMs: number, size: number, owner: string): Promise<(() => void) | null> {
    const entered = await new Promise<boolean>((resolve) => {
      const enter = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const waiter = { size, owner, enter }
      const timer = setTimeout(() => {
        this.#others.remove(waiter)
        resolve(false)
      }, waitMs)
      this.#others.add(waiter)
      this.#admit()
    })
    return entered ? this.#givingBack(size, owner) : null
  }

  hasRoomFor(size: number, owner: string): boolean {
    return this.#fits({ size, owner })
  }

  /** The same without waiting; null when not enough is free. */
  takeNow(size: number, owner: string): (() => void) | null {
    if (!this.hasRoomFor(size, owner)) return null
    this.#note(owner, size)
    return this.#givingBack(size, owner)
  }

  /** The same even when not enough is free: others wait until it is free again. */
  takeAnyway(size: number, owner: string): () => void {
    this.#note(owner, size)
    return this.#givingBack(size, owner)
  }

  #givingBack(size: number, owner: string): () => void {
    let given = false
    return () => {
      if (given) return
      given = true
      this.#note(owner, -size)
      this.#admit()
    }
  }

  #fits = ({ size, owner }: Pick<Waiter, 'size' | 'owner'>): boolean => {
    const own = this.#usedBy.get(owner) ?? 0
    const isSmallEnough = this.#used === 0 || this.#used + size <= this.#size
    return isSmallEnough && (own === 0 || own + size <= this.#perOwner)
  }

  #fitsAmongOthers = (waiter: Waiter): boolean =>
    (this.#used === 0 || this.#used + waiter.size <= this.#beforeOthers()) && this.#fits(waiter)

  #note(owner: string, size: number): void {
    this.#used += size
    const own = (this.#usedBy.get(owner) ?? 0) + size
    if (own === 0) this.#usedBy.delete(owner)
    else this.#usedBy.set(owner, own)
  }

  #admit(): void {
    for (;;) {
      const next = this.#urgent.next(this.#fits) ?? this.#others.next(this.#fitsAmongOthers)
      if (!next) return
      this.#note(next.owner, next.size)
      next.enter()
    }
  }
}

/** Waiting requests by owner: the owner that was served the longest ago is asked first. */
class Queue {
  readonly #owners = new Map<string, Waiter[]>()

  add(waiter: Waiter): void {
    const waiting = this.#owners.get(waiter.owner)
    if (waiting) waiting.push(waiter)
    else this.#owners.set(waiter.owner, [waiter])
  }

  remove(waiter: Waiter): void {
    const left = this.#owners.get(waiter.owner)?.filter((one) => one !== waiter) ?? []
    if (left.length > 0) this.#owners.set(waiter.owner, left)
    else this.#owners.delete(waiter.owner)
  }

  /** Removes and returns the first waiter of the first owner that the check admits. */
  next(fits: (waiter: Waiter) => boolean): Waiter | null {
    for (const [owner, waiting] of this.#owners) {
      const [first] = waiting
      if (!first || !fits(first)) continue
      waiting.shift()
      this.#owners.delete(owner)
      if (waiting.length > 0) this.#owners.set(owner, waiting)
      return first
    }
    return null
  }
}
