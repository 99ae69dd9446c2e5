import { setTimeout as pause } from 'node:timers/promises'

const WAIT_MS = 5_000
const LOOK_EVERY_MS = 50

/** Looks for a result of work that goes on elsewhere, again and again for some seconds; null when there is none yet. */
export async function soon<Result>(look: () => Promise<Result | null>): Promise<Result | null> {
  for (const until = performance.now() + WAIT_MS; performance.now() < until; await pause(LOOK_EVERY_MS)) {
    const result = await look()
    if (result !== null) return result
  }
  return null
}
