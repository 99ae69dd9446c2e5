import { randomUUID } from 'node:crypto'
import { v7 } from 'uuid'

/**
 * A new UUID v7: ids sort by the time of their creation, which keeps index writes together. Its random part
 * is that of a v4, for which Node draws bytes for many at once: asking the system for each one costs more
 * than the id.
 */
export function newId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice('00000000-0000-4'.length)}`
}

/** Every id created at that time or later is greater or equal. */
export const earliestId = (time: Date): string =>
  v7({ msecs: Math.max(0, time.getTime()), seq: 0, random: new Uint8Array(16) })

/** The time in an id: when it was created. */
export const timeOfId = (id: string): Date =>
  new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))

/** Greater than every id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: string): boolean => UUID.test(value)

/** How many bytes an id has. */
export const ID_BYTES = 16

export const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex')

/** The id in ID_BYTES bytes. */
export const idText = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
