import { v7 } from 'uuid'

/** A new UUID v7: ids sort by the time they were made, which keeps index writes together. */
export const newId = (now: Date): string => v7({ msecs: now.getTime() })

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: string): boolean => UUID.test(value)
