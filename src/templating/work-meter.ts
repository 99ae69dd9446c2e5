/** Thrown for a template whose loops create more text, or more work, than a request may. */
export class RenderedTooLarge extends Error {
  override name = 'RenderedTooLarge'
}

/**
 * The cost that rendering may have: `work` in nanoseconds as measured on one slow core, and `characters` of
 * text.
 */
export type Allowance = { work: number; characters: number }

/** Counts what a piece of rendering costs, before it is done where that is known, and ends it when that is too much. */
export class WorkMeter {
  readonly #given: Allowance
  #work: number
  #characters: number

  constructor(given: Allowance) {
    this.#given = given
    this.#work = given.work
    this.#characters = given.characters
  }

  /** Throws RenderedTooLarge. */
  spend(nanoseconds: number): void {
    this.#work -= nanoseconds
    if (this.#work < 0) throw new RenderedTooLarge()
  }

  /** Throws RenderedTooLarge. */
  write(characters: number): void {
    this.#characters -= characters
    if (this.#characters < 0) throw new RenderedTooLarge()
  }

  get spent(): Allowance {
    return { work: this.#given.work - this.#work, characters: this.#given.characters - this.#characters }
  }
}
