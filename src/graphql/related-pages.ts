import DataLoader from 'dataloader'
import type { Ctx } from '../ctx.ts'
import { isId } from '../lib/ids.ts'
import {
  type AskedPage,
  type CursorPage,
  cursorAfter,
  keyOfCursor,
  pageFrom,
  pageLimit,
} from '../paging/cursor-page.ts'
import type { Countable } from './cursor-page.ts'

type Source<Item> = {
  /** Names the list in its cursors. */
  name: string
  /** Reads pages in a constant number of statements; the answer has a list for each. */
  read: (ctx: Ctx, pages: AskedPage[]) => Promise<Item[][]>
  /** Counts the whole lists of the owners in one statement, in their order. */
  count: (ctx: Ctx, ownerIds: string[]) => Promise<number[]>
}

type Arguments = { limit?: number | null | undefined; cursor?: string | null | undefined }

/** Most items to read at once: contacts and events have up to 64 KB each. */
const MAX_AT_ONCE = 125

/** Parts of a list whose pages are not more together than is read at once. */
function partsOf(pages: readonly AskedPage[]): AskedPage[][] {
  const parts: { pages: AskedPage[]; items: number }[] = []
  for (const page of pages) {
    const last = parts.at(-1)
    if (last && last.items + page.limit <= MAX_AT_ONCE) {
      last.pages.push(page)
      last.items += page.limit
    } else {
      parts.push({ pages: [page], items: page.limit })
    }
  }
  return parts.map((part) => part.pages)
}

type Loaders<Item> = { pages: DataLoader<AskedPage, Item[]>; counts: DataLoader<string, number> }

/**
 * Resolves the lists of many objects, such as the emails of each contact of a page: all that one GraphQL
 * request asks for is read together.
 */
export function relatedPages<Item extends { id: string }>({ name, read, count }: Source<Item>) {
  const loadersOf = new WeakMap<Ctx, Loaders<Item>>()
  const readAll = async (ctx: Ctx, pages: readonly AskedPage[]): Promise<Item[][]> => {
    const lists: Item[][] = []
    for (const part of partsOf(pages)) {
      const readPart = () => read(ctx, part)
      lists.push(...(await (ctx.reads?.take(readPart) ?? readPart())))
    }
    return lists
  }
  const open = (ctx: Ctx): Loaders<Item> => {
    const loaders = loadersOf.get(ctx) ?? {
      pages: new DataLoader<AskedPage, Item[]>((pages) => readAll(ctx, pages), { cache: false }),
      counts: new DataLoader<string, number>((ownerIds) => count(ctx, [...ownerIds])),
    }
    loadersOf.set(ctx, loaders)
    return loaders
  }
  return async (ctx: Ctx, ownerId: string, given: Arguments): Promise<CursorPage<Item> & Countable> => {
    const limit = pageLimit(given.limit)
    const before = given.cursor ? keyOfCursor(given.cursor, name, isId) : null
    const { pages, counts } = open(ctx)
    const rows = await pages.load({ ownerId, before, limit: limit + 1 })
    return {
      ...pageFrom(rows, limit, ({ id }) => cursorAfter(name, id)),
      countTotal: async () => (before === null ? counts.load(ownerId) : 0),
    }
  }
}
