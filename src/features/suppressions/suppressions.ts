import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest, notFound } from '../../errors.ts'
import type { Suppression } from '../../generated/prisma/client.ts'
import type { SuppressionReason } from '../../generated/prisma/enums.ts'
import { escapeLike } from '../../lib/like.ts'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import { countSuppressions, insertSuppressions, suppressionPage, WEIGHTS } from './suppressions.sql.ts'

type Maybe<Value> = Value | null | undefined

export type SuppressionListRequest = {
  limit?: Maybe<number>
  cursor?: Maybe<string>
  search?: Maybe<string>
  reason?: Maybe<SuppressionReason>
}

export type SuppressionPage = CursorPage<Suppression> & { countTotal: () => Promise<number> }

/** No address is longer. */
const MAX_SEARCH = 320
const ORDER = 'suppressions'

const isKey = (key: string) => key.length <= MAX_SEARCH && !key.includes('\0')

/** Addresses that must not be written to, in alphabetical order; those with a text in them, or of a reason, if that is asked for. */
export async function listSuppressions(ctx: Ctx, request: SuppressionListRequest): Promise<SuppressionPage> {
  const limit = pageLimit(request.limit)
  if (request.search && !isKey(request.search)) {
    throw badRequest(`The parameter search may have at most ${MAX_SEARCH} characters.`)
  }
  const after = request.cursor ? keyOfCursor(request.cursor, ORDER, isKey) : ''
  const asked = {
    projectId: projectIdOf(ctx),
    search: request.search ? `%${escapeLike(request.search.toLowerCase())}%` : null,
    reason: request.reason ?? null,
  }
  const rows = await ctx.sql(suppressionPage, { ...asked, after, limit: limit + 1 })
  const page = pageFrom(rows, limit, ({ email }) => cursorAfter(ORDER, email))
  const countTotal = async () => {
    if (after !== '') return 0
    if (!page.hasMore) return page.data.length
    return (await ctx.sql(countSuppressions, asked))[0]?.count ?? 0
  }
  return { ...page, countTotal }
}

/** Puts an address on the list by hand; one that is on it stays as it is. */
export async function addSuppression(ctx: Ctx, { email }: { email: string }): Promise<Suppression> {
  await suppressAddresses(ctx, [{ email, reason: 'MANUAL', emailId: null }])
  return ctx.db.suppression.findUniqueOrThrow({
    where: { projectId_email: { projectId: projectIdOf(ctx), email } },
  })
}

/** Takes an address off the list; whether its contact is subscribed stays as it is. Throws RESOURCE_NOT_FOUND. */
export async function removeSuppression(ctx: Ctx, address: string): Promise<void> {
  const email = normalizeEmail(address)
  const { count } = await ctx.db.suppression.deleteMany({ where: { projectId: projectIdOf(ctx), email } })
  if (count === 0) throw notFound('The suppressed address')
}

type Suppressing = { email: string; reason: SuppressionReason; emailId: string | null }

/** Puts addresses on the list of the project; of several reasons for one the weightiest counts. */
export async function suppressAddresses(ctx: Ctx, addresses: Suppressing[]): Promise<void> {
  if (addresses.length === 0) return
  const byAddress = new Map(
    addresses
      .toSorted((a, b) => WEIGHTS[a.reason] - WEIGHTS[b.reason])
      .map((one) => [one.email, one] as const),
  )
  const rows = [...byAddress.values()].toSorted((a, b) => (a.email < b.email ? -1 : 1))
  await ctx.sql(insertSuppressions, {
    projectId: projectIdOf(ctx),
    now: ctx.now(),
    emails: rows.map(({ email }) => email),
    reasons: rows.map(({ reason }) => reason),
    emailIds: rows.map(({ emailId }) => emailId),
  })
}
