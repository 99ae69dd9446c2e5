import { setImmediate as nextTurn } from 'node:timers/promises'

const AT_A_TIME_MS = 10

/** For work in many small steps: lets others use the event loop whenever the work has held it for a while. */
export class Pauses {
  #since = performance.now()

  async whenDue(): Promise<void> {
    if (performance.now() - this.#since < AT_A_TIME_MS) return
    await nextTurn()
    this.#since = performance.now()
  }
}

/** For steps that hold the event loop for a while each: never begins two of them in the same turn of it. */
export class SingleFile {
  #last: Promise<void> = Promise.resolve()

  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn())
    return this.#last
  }
}
