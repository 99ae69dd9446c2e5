import type { AppError } from '../../errors.ts'
import { Slots } from '../../lib/async/slots.ts'

export type GiveBack = () => void

type Limits = {
  /** Bytes of all owners together. */
  total: number
  /** Bytes of one owner. One thing that is larger is let in when its owner has nothing else. */
  perOwner: number
  /** How long to wait for a turn, in milliseconds. */
  waitMs: number
  refusal: () => AppError
}

/** How many bytes of something may be in memory at the same time. Owners take turns, so that none keeps out others. */
export class ByteBudget {
  readonly #slots: Slots
  readonly #limits: Limits

  constructor(limits: Limits) {
    this.#slots = new Slots(limits.total, { perOwner: limits.perOwner })
    this.#limits = limits
  }

  hasRoomFor(bytes: number, owner: string): boolean {
    return this.#slots.hasRoomFor(bytes, owner)
  }

  /** Waits for its turn. Throws the refusal when that takes too long. */
  async take(bytes: number, owner: string): Promise<GiveBack> {
    const giveBack = await this.#slots.takeWithin(this.#limits.waitMs, bytes, owner)
    if (!giveBack) throw this.#limits.refusal()
    return giveBack
  }

  /** Waits for its turn, however long that takes: for owners that hold nothing that others wait for. */
  takeInTime(bytes: number, owner: string): Promise<GiveBack> {
    return this.#slots.take(bytes, owner)
  }

  /** Takes it even when there is no room: for answers that can no longer be refused. */
  takeAnyway(bytes: number, owner: string): GiveBack {
    return this.#slots.takeAnyway(bytes, owner)
  }

  /**
   * For owners that hold bytes already and would hold them longer while they wait. Throws the refusal when
   * there is no room.
   */
  takeNow(bytes: number, owner: string): GiveBack {
    const giveBack = this.#slots.takeNow(bytes, owner)
    if (!giveBack) throw this.#limits.refusal()
    return giveBack
  }
}
