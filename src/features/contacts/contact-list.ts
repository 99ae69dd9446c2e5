import { type Ctx, projectIdOf } from '../../ctx.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../cursor-page.ts'
import { badRequest } from '../../errors.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import { escapeLike } from '../../lib/like.ts'
import { type OrderRequest, readOrder } from '../../offset-page.ts'
import { filterCondition } from './contact-filter.ts'
import { type ContactCondition, contactCount, contactPage, contactsAt } from './contact-list.sql.ts'

type Maybe<Value> = Value | null | undefined

export type ContactListRequest = OrderRequest & {
  limit?: Maybe<number>
  cursor?: Maybe<string>
  search?: Maybe<string>
  subscribed?: Maybe<boolean>
  /** A filter tree as JSON. */
  filter?: unknown
}

export type ContactPage = CursorPage<Contact> & { countTotal: () => Promise<number> }

/** No address is longer. */
const MAX_SEARCH = 320

/**
 * A page of contacts. An item is on exactly one page, whatever is added or removed between two pages: pages are
 * bounded by keys that never repeat, not by positions.
 */
export async function listContacts(ctx: Ctx, request: ContactListRequest): Promise<ContactPage> {
  const limit = pageLimit(request.limit)
  const { field, direction } = readOrder(request, ['createdAt', 'email'])
  const column = field === 'email' ? 'email' : 'id'
  const order = `${field} ${direction}`
  const isKey = column === 'id' ? isId : (key: string) => key.length <= MAX_SEARCH && !key.includes('\0')
  const after = request.cursor ? keyOfCursor(request.cursor, order, isKey) : null
  const conditions = await conditionsOf(ctx, request)
  const { statement, values } = contactPage(
    projectIdOf(ctx),
    conditions,
    { column, direction },
    after,
    limit + 1,
  )
  // A search takes as long as its count: together they take as long as one.
  const [rows, counted] = await Promise.all([
    ctx.sql(statement, values),
    after === null && request.search ? countContacts(ctx, conditions) : null,
  ])
  const page = pageFrom(rows, limit, (last) => cursorAfter(order, last[column]))
  const countTotal = async () => {
    if (after !== null) return 0
    if (!page.hasMore) return page.data.length
    return counted ?? countContacts(ctx, conditions)
  }
  return { ...page, countTotal }
}

async function conditionsOf(
  ctx: Ctx,
  { search, subscribed, filter }: ContactListRequest,
): Promise<ContactCondition[]> {
  if (search && search.length > MAX_SEARCH) {
    throw badRequest(`The parameter search may have at most ${MAX_SEARCH} characters.`)
  }
  const conditions: ContactCondition[] = []
  // Addresses are stored in lower case.
  const pattern = search ? `%${escapeLike(search.toLowerCase())}%` : null
  if (pattern) conditions.push((first) => ({ text: `c.email like $${first}`, values: [pattern] }))
  if (typeof subscribed === 'boolean') {
    conditions.push((first) => ({ text: `c.subscribed = $${first}::boolean`, values: [subscribed] }))
  }
  if (filter !== null && filter !== undefined) conditions.push(await filterCondition(ctx, filter, 'filter'))
  return conditions
}

/** Up to here contacts are counted at every call. */
const EXACT = 10_000
/** How long a greater number is used. */
const FRESH_MS = 60_000
const MAX_TOTALS = 1_000

type Total = { count: number; at: number; counting: Promise<number> | null }

const totals = new WeakMap<Ctx['services']['database'], Map<string, Total>>()

/**
 * How many contacts the conditions let through: exact up to 10,000, above that as of at most a minute ago.
 * Counting a million takes a tenth of a second, too long for each first page.
 */
export async function countContacts(ctx: Ctx, conditions: ContactCondition[]): Promise<number> {
  const few = contactCount(projectIdOf(ctx), conditions, EXACT + 1)
  const [row] = await ctx.sql(few.statement, few.values)
  if (!row || row.count <= EXACT) return row?.count ?? 0
  const known = totals.get(ctx.services.database) ?? new Map<string, Total>()
  totals.set(ctx.services.database, known)
  const all = contactCount(projectIdOf(ctx), conditions, null)
  const entry = JSON.stringify([all.statement.text, all.values])
  if (!known.has(entry) && known.size >= MAX_TOTALS) known.clear()
  const total = known.get(entry) ?? { count: 0, at: Number.NEGATIVE_INFINITY, counting: null }
  known.set(entry, total)
  if (ctx.now().getTime() - total.at < FRESH_MS) return total.count
  total.counting ??= countAll(ctx, all, total)
  return total.counting
}

/** Contacts at some positions of the list, the newest first. */
export async function contactRange(
  ctx: Ctx,
  conditions: ContactCondition[],
  { skip, take }: { skip: number; take: number },
): Promise<Contact[]> {
  const { statement, values } = contactsAt(projectIdOf(ctx), conditions, skip, take)
  return ctx.sql(statement, values)
}

/** The exact number, however long it takes. */
export async function countExactly(ctx: Ctx, conditions: ContactCondition[]): Promise<number> {
  const all = contactCount(projectIdOf(ctx), conditions, null)
  const [row] = await ctx.sql(all.statement, all.values)
  return row?.count ?? 0
}

async function countAll(ctx: Ctx, all: ReturnType<typeof contactCount>, total: Total): Promise<number> {
  const at = ctx.now().getTime()
  try {
    const [row] = await ctx.sql(all.statement, all.values)
    total.count = row?.count ?? 0
    total.at = at
    return total.count
  } finally {
    total.counting = null
  }
}
