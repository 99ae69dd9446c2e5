import { badRequest } from '../errors.ts'
import { isJsonObject } from '../lib/json.ts'

/** Which page of whose list is asked for: at most `limit` items with ids below `before`, the greatest first. */
export type AskedPage = { ownerId: string; before: string | null; limit: number }

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100

/** One page of a list that is walked with a cursor; `cursor` is null at the end. */
export type CursorPage<Item> = { data: Item[]; cursor: string | null; hasMore: boolean }

/** How many items a page may have. Throws BAD_REQUEST below 1; more than `most` are not given. */
export function pageLimit(limit: number | null | undefined, most = MAX_LIMIT): number {
  if (limit === null || limit === undefined) return DEFAULT_LIMIT
  if (limit < 1) throw badRequest('The parameter limit must be at least 1.')
  return Math.min(limit, most)
}

/** The place in one order of a list after which the next page begins; opaque to callers. */
export const cursorAfter = (order: string, key: string): string =>
  Buffer.from(JSON.stringify({ order, key })).toString('base64url')

/** The key of a cursor. Throws BAD_REQUEST for a cursor of another list or another order. */
export function keyOfCursor(cursor: string, order: string, isKey: (key: string) => boolean): string {
  const invalid = badRequest(
    'The cursor is not valid here: use the one of the previous page, with the same sort and dir.',
  )
  const value = parsed(cursor)
  if (!isJsonObject(value) || value.order !== order) throw invalid
  if (typeof value.key !== 'string' || !isKey(value.key)) throw invalid
  return value.key
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}

/** Cuts a page from rows that were read with a limit of one more than the page may have. */
export function pageFrom<Item>(
  rows: Item[],
  limit: number,
  cursorOf: (item: Item) => string,
): CursorPage<Item> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const hasMore = rows.length > limit
  return { data, cursor: hasMore && last ? cursorOf(last) : null, hasMore }
}
