import { type AudienceUsage, audienceUsage, isUsed } from '../../audience/usage.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { earliestId } from '../../lib/ids.ts'
import {
  countsByName,
  estimatedContacts,
  eventNames,
  type NameCount,
  uniqueContacts,
} from './event-counts.sql.ts'
import { countEventsOf, firstOpenEvent } from './event-counts.ts'
import { type Range, readRange, splitRange } from './event-range.rules.ts'
import { isReservedEvent, MAX_EVENT_NAME } from './events.rules.ts'

/** Every name that events of the project have, in alphabetical order; also those of the service's own events. */
export async function listEventNames(ctx: Ctx): Promise<string[]> {
  return (await ctx.sql(eventNames, [projectIdOf(ctx), await firstOpenEvent(ctx)])).map(({ name }) => name)
}

export type EventStatistics = { name: string; count: number; uniqueContacts: number }

/** Names of one answer: the most frequent. */
const MAX_NAMES = 1_000
/** Names with most events ever, among which these are looked for. */
const NAMES_LOOKED_AT = 3_000
/** Events up to which the contacts who had them are counted one by one. */
const EXACT_IN_ALL = 100_000
const EXACT_OF_A_NAME = 500

/**
 * How often each event happened in a range, and to how many contacts: exact up to 100,000 events in all or 500
 * of a name, above that estimated from every 32nd contact.
 */
export async function eventStatistics(
  ctx: Ctx,
  { startDate, endDate }: { startDate?: string | null | undefined; endDate?: string | null | undefined },
): Promise<EventStatistics[]> {
  const range = readRange(startDate, endDate, ctx.now())
  if (typeof range === 'string') throw badRequest(range)
  const counts = await countsIn(ctx, range)
  const all = counts.reduce((sum, { count }) => sum + count, 0)
  const isFew = ({ count }: NameCount) => all <= EXACT_IN_ALL || count <= EXACT_OF_A_NAME
  const namesOf = (some: NameCount[]) => some.map(({ name }) => name)
  const values = [range.from, range.to]
  const projectId = projectIdOf(ctx)
  const [exact, estimated] = await Promise.all([
    ctx.sql(uniqueContacts, [projectId, namesOf(counts.filter(isFew)), ...values]),
    ctx.sql(estimatedContacts, [projectId, namesOf(counts.filter((one) => !isFew(one))), ...values]),
  ])
  const contacts = new Map([...estimated, ...exact].map(({ name, count }) => [name, count]))
  return counts.map(({ name, count }) => ({
    name,
    count,
    uniqueContacts: Math.min(count, contacts.get(name) ?? 0),
  }))
}

async function countsIn(ctx: Ctx, range: Range): Promise<NameCount[]> {
  const { days, before, after } = splitRange(range, ctx.now())
  const rest = [before, after]
    .filter(({ from, to }) => from < to)
    .map(({ from, to }) => ({ from: earliestId(from), to: earliestId(to) }))
  const { statement, values } = countsByName(
    projectIdOf(ctx),
    await firstOpenEvent(ctx),
    { ...range, days, rest },
    { limit: MAX_NAMES, looked: NAMES_LOOKED_AT },
  )
  return ctx.sql(statement, values)
}

export type EventUsage = AudienceUsage & { totalCount: number; uniqueContacts: number; canDelete: boolean }

/** What names the event, how often it happened, and to how many contacts (see `eventStatistics`). */
export async function eventUsage(ctx: Ctx, name: string): Promise<EventUsage> {
  if (name.length > MAX_EVENT_NAME) throw badRequest('No event has so long a name.')
  const projectId = projectIdOf(ctx)
  const usage = await audienceUsage(ctx, ({ events }) => events.includes(name))
  const totalCount = await countEventsOf(ctx, name)
  const statement = totalCount <= EXACT_IN_ALL ? uniqueContacts : estimatedContacts
  const [contacts] = await ctx.sql(statement, [projectId, [name], new Date(0), MAX_DATE])
  return {
    ...usage,
    totalCount,
    uniqueContacts: Math.min(totalCount, contacts?.count ?? 0),
    canDelete: !isUsed(usage) && !isReservedEvent(name),
  }
}

const MAX_DATE = new Date(Date.UTC(9999, 0))
