/**
 * Waits for the work, but not longer than `milliseconds`: null when it is not done in time. The work goes on
 * then, and its result is lost.
 */
export async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds)
  })
  return Promise.race([work, overdue]).finally(() => clearTimeout(timer))
}
