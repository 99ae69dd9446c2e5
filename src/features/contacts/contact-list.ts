import { createHash } from 'node:crypto'
import { DAY_MS } from '../../audience/dates.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isTimeOut } from '../../db/sql.ts'
import { badRequest } from '../../errors.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import { escapeLike } from '../../lib/like.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import { type OrderRequest, readOrder } from '../../paging/offset-page.ts'
import { type ContactCondition, filterCondition } from './contact-filter.ts'
import {
  contactCount,
  contactPage,
  contactShare,
  contactsAt,
  freshTotal,
  noteTotal,
} from './contact-list.sql.ts'

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
  const { statement, params } = contactPage(
    projectIdOf(ctx),
    conditions,
    { column, direction },
    after,
    limit + 1,
  )
  // A search takes as long as its count: together they take as long as one.
  const [rows, counted] = await Promise.all([
    ctx.sql(statement, params),
    after === null && request.search ? countContacts(ctx, conditions, request) : null,
  ])
  const page = pageFrom(rows, limit, (last) => cursorAfter(order, last[column]))
  const countTotal = async () => {
    if (after !== null) return 0
    if (!page.hasMore) return page.data.length
    const count = counted ?? (await countContacts(ctx, conditions, request))
    // There is at least one more, whatever an estimate says.
    return Math.max(count, page.data.length + 1)
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
  if (pattern) conditions.push({ text: 'c.email like :pattern', params: { pattern } })
  if (typeof subscribed === 'boolean') {
    conditions.push({ text: 'c.subscribed = :subscribed::boolean', params: { subscribed } })
  }
  if (filter !== null && filter !== undefined) conditions.push(await filterCondition(ctx, filter, 'filter'))
  return conditions
}

/** Up to this number contacts are counted at every call. */
export const EXACT = 10_000
/** How long a greater number is used. */
const FRESH_MS = 60_000
/** How long it is used where counting takes too long. */
const LAST_MS = DAY_MS
/** Number of contacts in the sample of an estimate. */
const SAMPLE = 2_000

/** The parameters of a count, as the key under which it is remembered. */
type Asked = Pick<ContactListRequest, 'search' | 'subscribed' | 'filter'>

/** How many contacts the conditions let through, EXACT + 1 when there are more; undefined when counting takes too long. */
export async function countFew(ctx: Ctx, conditions: ContactCondition[]): Promise<number | undefined> {
  const { statement, params } = contactCount(projectIdOf(ctx), conditions, EXACT + 1)
  const rows = await unlessSlow(ctx.sql(statement, params))
  return rows?.[0]?.count
}

/**
 * How many contacts the conditions, which are what was `asked` for, let through: exact up to 10,000, above that as
 * of at most a minute ago, the same number for all processes. Counting a million takes a tenth of a second, too long
 * for each first page. Where it takes longer than a statement may, it is the last number, or else an estimate.
 */
export async function countContacts(
  ctx: Ctx,
  conditions: ContactCondition[] = [],
  asked: Asked = {},
): Promise<number> {
  const count = await countFew(ctx, conditions)
  if (count !== undefined && count <= EXACT) return count
  const known = await totalOf(ctx, asked, FRESH_MS)
  if (known !== undefined) return known
  const isMany = count !== undefined
  const total = isMany ? await unlessSlow(countExactly(ctx, conditions)) : undefined
  const answer = total ?? (await totalOf(ctx, asked, LAST_MS)) ?? (await estimate(ctx, conditions, isMany))
  await ctx.sql(noteTotal, {
    projectId: projectIdOf(ctx),
    key: keyOf(asked),
    count: answer,
    clockShift: ctx.services.clockShift(),
  })
  return answer
}

function keyOf({ search, subscribed, filter }: Asked): string {
  const asked = JSON.stringify([search ?? null, subscribed ?? null, filter ?? null])
  return createHash('sha256').update(asked).digest('base64url')
}

/** The number that was last noted, if it is not older. */
async function totalOf(ctx: Ctx, asked: Asked, maxAgeMs: number): Promise<number | undefined> {
  const [total] = await ctx.sql(freshTotal, {
    projectId: projectIdOf(ctx),
    key: keyOf(asked),
    maxAgeMs,
    clockShift: ctx.services.clockShift(),
  })
  return total?.count
}

const unlessSlow = <Result>(work: Promise<Result>): Promise<Result | undefined> =>
  work.catch((error: unknown) => {
    if (!isTimeOut(error)) throw error
    return undefined
  })

/** Estimates from a sample how many contacts match; for all contacts only that they are `many` is known. */
async function estimate(ctx: Ctx, conditions: ContactCondition[], isMany: boolean): Promise<number> {
  const least = isMany || conditions.length === 0 ? EXACT + 1 : 0
  if (conditions.length === 0) return least
  const { statement, params } = contactShare(projectIdOf(ctx), conditions, SAMPLE)
  const sample = await unlessSlow(ctx.sql(statement, params))
  const all = (await totalOf(ctx, {}, LAST_MS)) ?? (await countContacts(ctx))
  return Math.max(least, Math.round((sample?.[0]?.share ?? 0) * all))
}

/** Contacts at some positions of the list, the newest first. */
export async function contactRange(
  ctx: Ctx,
  conditions: ContactCondition[],
  { skip, take }: { skip: number; take: number },
): Promise<Contact[]> {
  const { statement, params } = contactsAt(projectIdOf(ctx), conditions, skip, take)
  return ctx.sql(statement, params)
}

/** The exact number, however long it takes. */
export async function countExactly(ctx: Ctx, conditions: ContactCondition[]): Promise<number> {
  const all = contactCount(projectIdOf(ctx), conditions, null)
  const [row] = await ctx.sql(all.statement, all.params)
  return row?.count ?? 0
}
