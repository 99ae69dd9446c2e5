/** Room for what a request answers with. */
export type AnswerBytes = {
  /**
   * Waits until there is room for this many bytes of the answer, which are read afterwards: the records as
   * they are sent. Throws SERVICE_UNAVAILABLE when there is none for too long.
   */
  takeAnswer: (bytes: number) => Promise<void>
  /** Bytes taken so far. */
  readonly taken: number
  /** The request has done its work: its answer cannot be refused, whatever it takes. */
  mustAnswer: () => void
}
