import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { NameCount } from './event-counts.sql.ts'
import type { Range } from './event-range.rules.ts'
import { contactsOfEvents, contactsUpTo, sampleOfEvents } from './unique-contacts.sql.ts'

/** Events that are looked at one by one, of the names that have fewest. */
const LOOKED_AT = 100_000
/** Events that are looked at of names with more events, but few contacts. */
const LOOKED_AT_LAST = 300_000
/** One contact in this number is in the sample. */
const SAMPLE = 32
/** With at least this many contacts in the sample, an estimate is right within a tenth or so. */
const ENOUGH = 150

const byName = (counts: NameCount[]) => new Map(counts.map(({ name, count }) => [name, count]))

/**
 * Returns for each of the events how many contacts it happened to in a range, in which they happened as often
 * as `counts` says. It is exact up to 100,000 events, and up to 300,000 of names that happened to some
 * thousands of contacts; above, it is an estimate from every 32nd contact.
 */
export async function uniqueContactsOf(
  ctx: Ctx,
  counts: NameCount[],
  { from, to }: Range,
): Promise<Map<string, number>> {
  const of = (names: string[], looked: number | null) =>
    ctx.sql(contactsOfEvents, { projectId: projectIdOf(ctx), names, from, to, looked })
  let events = 0
  const ascending = counts.toSorted((one, other) => one.count - other.count)
  const few = ascending.filter(({ count }) => {
    events += count
    return events <= LOOKED_AT
  })
  const many = ascending.slice(few.length)
  const exact =
    few.length > 0
      ? await of(
          few.map(({ name }) => name),
          null,
        )
      : []
  const sample = await sampleOf(ctx, many, { from, to })
  const unsure = many.filter(({ name }) => (sample.get(name) ?? 0) < ENOUGH).map(({ name }) => name)
  const limit = Math.ceil(LOOKED_AT_LAST / Math.max(1, unsure.length))
  const seen = byName(unsure.length > 0 ? await of(unsure, limit) : [])
  const estimates = many.map(({ name, count }) => {
    const found = seen.get(name) ?? 0
    const isExact = seen.has(name) && count <= limit
    return {
      name,
      count: isExact ? found : Math.min(count, Math.max(found, (sample.get(name) ?? 0) * SAMPLE)),
    }
  })
  return byName([...exact, ...(await withinContacts(ctx, estimates))])
}

async function sampleOf(ctx: Ctx, many: NameCount[], { from, to }: Range): Promise<Map<string, number>> {
  if (many.length === 0) return new Map()
  const names = many.map(({ name }) => name)
  return byName(await ctx.sql(sampleOfEvents, { projectId: projectIdOf(ctx), names, from, to }))
}

/** No event happened to more contacts than there are. */
async function withinContacts(ctx: Ctx, estimates: NameCount[]): Promise<NameCount[]> {
  if (estimates.length === 0) return []
  const most = Math.max(...estimates.map(({ count }) => count))
  const [contacts] = await ctx.sql(contactsUpTo, { projectId: projectIdOf(ctx), most })
  return estimates.map(({ name, count }) => ({ name, count: Math.min(count, contacts?.count ?? 0) }))
}
