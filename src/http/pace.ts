/** How fast a client has to take an answer that room is kept for. What it takes no part in, such as reading rows, is not its time. */
export type Pace = {
  bytesPerSecond: number
  /** Milliseconds to begin with. */
  graceMs: number
  lookEveryMs: number
}

/** 1 Mbit/s: an answer of a megabyte keeps its room for 18 seconds at most. */
export const ANSWER_PACE: Pace = { bytesPerSecond: 128 * 1024, graceMs: 10_000, lookEveryMs: 5_000 }

/** As much as a socket takes at a time, in bytes: how a client gets on is seen between two steps. */
const STEP = 64 * 1024

/** Hands on an answer in small steps, and calls `tooSlow` when the client takes them more slowly than that. */
export async function* atPace(
  parts: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  { bytesPerSecond, graceMs, lookEveryMs }: Pace,
  tooSlow: () => void,
): AsyncGenerator<Uint8Array, void> {
  let taken = 0
  let waitedMs = 0
  let waitsSince: number | null = null
  const look = () => {
    const ms = waitedMs + (waitsSince === null ? 0 : performance.now() - waitsSince)
    if (taken < ((ms - graceMs) / 1000) * bytesPerSecond) tooSlow()
  }
  const looking = setInterval(look, lookEveryMs)
  try {
    for await (const part of parts) {
      const bytes = typeof part === 'string' ? Buffer.from(part) : part
      for (let start = 0; start < bytes.length; start += STEP) {
        const step = bytes.subarray(start, start + STEP)
        const began = performance.now()
        waitsSince = began
        yield step
        waitsSince = null
        waitedMs += performance.now() - began
        taken += step.length
      }
    }
  } finally {
    clearInterval(looking)
  }
}
