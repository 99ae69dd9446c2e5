const ATTEMPTS = 5

/**
 * Repeats work that returns undefined when a concurrent change got in its way, until it has a result. Returns
 * undefined after ATTEMPTS.
 */
export async function retried<Result>(work: () => Promise<Result | undefined>): Promise<Result | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const result = await work()
    if (result !== undefined) return result
  }
  return undefined
}
