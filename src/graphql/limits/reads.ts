import { AppError } from '../../errors.ts'
import { jsonSize } from '../../lib/json.ts'
import type { AnswerBytes } from '../../paging/answer-bytes.ts'

/** Up to this size, in bytes, reads are not counted: most answers are small. */
const UNCOUNTED = 64 * 1024

/**
 * Reads for one GraphQL request, one list after the other, and takes room for the real size of each. So
 * fifteen lists are neither read at the same time nor all in memory, and no request has fifteen connections.
 */
export class Reads {
  readonly #answer: AnswerBytes
  #last: Promise<unknown> = Promise.resolve()

  constructor(answer: AnswerBytes) {
    this.#answer = answer
  }

  /**
   * Reads when its turn has come. Throws SERVICE_UNAVAILABLE when the project has too many answers on their
   * way; later reads of the request then fail as well.
   */
  take<Result>(read: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => this.#withRoom(read))
    this.#last = turn.catch(onlyForRoom)
    // There may be nothing more to read.
    this.#last.catch(() => undefined)
    return turn
  }

  /**
   * Takes room for the whole answer before it becomes text: a record that was read once may be in it under
   * fifteen names.
   */
  async takeWhole(answer: unknown): Promise<void> {
    await this.#takeMore(jsonSize(answer) - this.#answer.taken)
  }

  /** Takes the room that `read` has not taken itself. */
  async #withRoom<Result>(read: () => Promise<Result>): Promise<Result> {
    const before = this.#answer.taken
    const result = await read()
    await this.#takeMore(jsonSize(result) - (this.#answer.taken - before))
    return result
  }

  async #takeMore(bytes: number): Promise<void> {
    if (bytes > UNCOUNTED) await this.#answer.takeAnswer(bytes)
  }
}

function onlyForRoom(error: unknown): void {
  if (error instanceof AppError && error.code === 'SERVICE_UNAVAILABLE') throw error
}
