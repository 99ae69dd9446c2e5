/** A part of a list that is read at once. */
export type Piece = {
  /** Size of its records, as far as it is known. */
  bytes: number
  read: () => Promise<unknown[]>
}

/**
 * Answers with a list that is too large for memory. The operation runs once without records; then each piece
 * is read, put where the list belongs, and completed by GraphQL as the whole would be.
 */
export class Pieces {
  /** Stands for the list in the result of the operation. */
  readonly #list: never[] = []
  readonly #pieces: Piece[] = []

  /** The pieces, in their order; none when the answer was written in one part. */
  get all(): readonly Piece[] {
    return this.#pieces
  }

  /** Leaves the list to be read in pieces. The returned list stands for it. */
  defer<Item>(pieces: Piece[]): Item[] {
    this.#pieces.push(...pieces)
    return this.#list
  }

  /** The result of the operation, with the records of a piece where the list belongs. */
  fill(resolved: unknown, records: unknown[]): unknown {
    if (resolved === this.#list || typeof resolved !== 'object' || resolved === null) return records
    const entries = Object.entries(resolved)
    return Object.fromEntries(entries.map(([name, value]) => [name, value === this.#list ? records : value]))
  }
}
