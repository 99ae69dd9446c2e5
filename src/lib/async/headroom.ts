import { performance } from 'node:perf_hooks'

/** How often the share of busy time is looked at, in milliseconds. */
const LOOK_MS = 100
/** The event loop answers late when it is busy for more than this share of the time, and has room below the other. */
const BUSY = 0.95
const IDLE = 0.85

export type HeadroomOptions = {
  least: number
  most: number
  /** Milliseconds of now, and how many of them the event loop was busy; by default as they are. */
  measure?: () => { now: number; busy: number }
}

/**
 * How much work that can wait may be under way at a time: less while the event loop is always busy, because more would
 * be done no sooner and would have everything else wait longer; more again when the loop has time left.
 */
export class Headroom {
  readonly #options: Required<HeadroomOptions>
  #allowed: number
  #last: { now: number; busy: number }

  constructor(options: HeadroomOptions) {
    this.#options = { measure: measureLoop, ...options }
    this.#allowed = options.most
    this.#last = this.#options.measure()
  }

  get allowed(): number {
    const { least, most, measure } = this.#options
    const at = measure()
    const passed = at.now - this.#last.now
    if (passed < LOOK_MS) return this.#allowed
    const share = (at.busy - this.#last.busy) / passed
    this.#last = at
    if (share > BUSY) this.#allowed = Math.max(least, this.#allowed - 1)
    else if (share < IDLE) this.#allowed = Math.min(most, this.#allowed + 1)
    return this.#allowed
  }
}

function measureLoop() {
  const { active, idle } = performance.eventLoopUtilization()
  return { now: active + idle, busy: active }
}
