/** An error that the operator of the service can fix: its message is one or two sentences that say how. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
