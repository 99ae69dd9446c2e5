/**
 * The result of the work, or null when the signal comes first. A later result or failure of the work is
 * ignored.
 */
export function beforeAbort<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    const end = () => resolve(null)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
