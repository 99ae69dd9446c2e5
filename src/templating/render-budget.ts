import { type Allowance, WorkMeter } from './work-meter.ts'

/** A tenth of a second, and the most that a request may store. */
const REQUEST: Allowance = { work: 100_000_000, characters: 64 * 1024 * 1024 }
/** Most work that is done on the thread that serves requests; more goes to another thread. */
const MAX_WORK_HERE = 10_000_000

/**
 * The cost that rendering may have in one request, for all of its operations and messages together. Conditions of workflows
 * share it.
 */
export class RenderBudget {
  #left = REQUEST
  #workHere = MAX_WORK_HERE

  get left(): Allowance {
    return this.#left
  }

  get isSpent(): boolean {
    return this.#left.work <= 0
  }

  /** A meter for work on the thread that serves requests. */
  meterHere(): WorkMeter {
    return new WorkMeter({ ...this.#left, work: Math.min(this.#left.work, this.#workHere) })
  }

  /**
   * Notes work done on the thread that serves requests. `done` is false for work that another thread does
   * again.
   */
  noteHere(spent: Allowance, done: boolean): void {
    this.#workHere -= spent.work
    if (done) this.note(spent)
  }

  note(spent: Allowance): void {
    const { work, characters } = this.#left
    this.#left = { work: work - spent.work, characters: characters - spent.characters }
  }
}
