/**
 * Waits for the work, but no longer than that: null when it is not done in time. It goes on then, and what
 * becomes of it is lost.
 */
export async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds)
  })
  return Promise.race([work, overdue]).finally(() => clearTimeout(timer))
}
