import { randomInt } from 'node:crypto'

/** Chance that can be had again: the same seed gives the same numbers. */
export type Random = {
  /** A whole number from `from` to `to`, both included. */
  between: (from: number, to: number) => number
}

/** Runs the body with random numbers; when it fails it says the seed, which SEED=… gives again. */
export async function seeded(body: (random: Random) => Promise<void>): Promise<void> {
  const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
  try {
    await body(randomFrom(seed))
  } catch (error) {
    console.error(`Failed with SEED=${seed}`)
    throw error
  }
}

/** Mulberry32, a generator of 32 bits: small, and good enough to pick moments. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { between: (from, to) => from + Math.floor(next() * (to - from + 1)) }
}

/** How often a property is tried: `DEEP=1` tries the full number, every test run a quarter of it. */
export const runs = (full: number): number => (process.env.DEEP ? full : Math.ceil(full / 4))
