/** What whoever runs the service can put right: its message is a sentence or two that say how. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
