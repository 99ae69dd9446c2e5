/** How fast a client has to take an answer that room is kept for. What it takes no part in, such as reading rows, is not its time. */
export type Pace = {
  bytesPerSecond: number
  /**
   * Milliseconds of the client's time that are looked at together: what the buffers take at the beginning
   * does not help for long.
   */
  windowMs: number
  lookEveryMs: number
}

/** 1 Mbit/s. */
export const ANSWER_PACE: Pace = { bytesPerSecond: 128 * 1024, windowMs: 10_000, lookEveryMs: 2_500 }

/** Bytes of a step, as many as a socket takes at a time: between two steps the pace of the client shows. */
const STEP = 64 * 1024

/** Hands on an answer in small steps, and calls `tooSlow` when the client takes them more slowly than that. */
export async function* atPace(
  parts: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  { bytesPerSecond, windowMs, lookEveryMs }: Pace,
  tooSlow: () => void,
): AsyncGenerator<Uint8Array, void> {
  let taken = 0
  let waitedMs = 0
  let waitsSince: number | null = null
  const look = () => {
    const now = performance.now()
    const ms = waitedMs + (waitsSince === null ? 0 : now - waitsSince)
    if (ms < windowMs) return
    if (taken < (ms / 1000) * bytesPerSecond) tooSlow()
    taken = 0
    waitedMs = 0
    if (waitsSince !== null) waitsSince = now
  }
  const looking = setInterval(look, lookEveryMs)
  try {
    for await (const part of parts) {
      const bytes = typeof part === 'string' ? Buffer.from(part) : part
      for (let start = 0; start < bytes.length; start += STEP) {
        const step = bytes.subarray(start, start + STEP)
        waitsSince = performance.now()
        yield step
        waitedMs += performance.now() - waitsSince
        waitsSince = null
        taken += step.length
      }
    }
  } finally {
    clearInterval(looking)
  }
}
