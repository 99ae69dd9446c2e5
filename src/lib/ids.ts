import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

/** Random bytes are drawn for many ids at once: asking the system for each one costs more than the id. */
const POOL_BYTES = 16 * 256
const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

function random16(): Uint8Array {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += 16
  return pool.subarray(used - 16, used)
}

/** A new UUID v7: ids sort by the time they were made, which keeps index writes together. */
export const newId = (now: Date): string => v7({ msecs: now.getTime(), random: random16() })

/** Every id made at that time or later is greater or equal. */
export const earliestId = (time: Date): string =>
  v7({ msecs: Math.max(0, time.getTime()), seq: 0, random: new Uint8Array(16) })

/** The time in an id: when it was made. */
export const timeOfId = (id: string): Date =>
  new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))

/** Greater than every id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: string): boolean => UUID.test(value)
