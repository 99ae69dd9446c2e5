/** The result of the work, or null when the signal comes first. What the work comes to after that is nobody's. */
export function beforeAbort<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    const end = () => resolve(null)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
