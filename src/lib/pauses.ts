import { setImmediate as nextTurn } from 'node:timers/promises'

const AT_A_TIME_MS = 10

/** For work in many small steps: lets others have the event loop whenever it was held for a while. */
export class Pauses {
  #since = performance.now()

  async whenDue(): Promise<void> {
    if (performance.now() - this.#since < AT_A_TIME_MS) return
    await nextTurn()
    this.#since = performance.now()
  }
}
