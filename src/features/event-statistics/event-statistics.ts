import { DAY_MS } from '../../audience/dates.rules.ts'
import { isReservedEvent, MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { isUsed, type Usage, usageOf } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { earliestId } from '../../lib/ids.ts'
import { countsByName, eventNames, type NameCount } from './event-counts.sql.ts'
import { countEventsOf, openEvents } from './event-counts.ts'
import { type Range, readRange, splitRange } from './event-range.rules.ts'
import { uniqueContactsOf } from './unique-contacts.ts'

/** Names that are listed. */
const MAX_LISTED = 100_000

/** Every name of the project's events, in alphabetical order; those of the service's own events included. */
export async function listEventNames(ctx: Ctx): Promise<string[]> {
  const { firstId, kept } = await openEvents(ctx)
  const rows = await ctx.sql(eventNames, { projectId: projectIdOf(ctx), firstId, kept, limit: MAX_LISTED })
  return rows.map(({ name }) => name)
}

export type EventStatistics = { name: string; count: number; uniqueContacts: number }

/** Names of one answer: the most frequent. */
const MAX_NAMES = 1_000
/** Names with most events ever, among which these are looked for. */
const NAMES_LOOKED_AT = 3_000

/** How often each event happened in a range, and to how many contacts. */
export async function eventStatistics(
  ctx: Ctx,
  { startDate, endDate }: { startDate?: string | null | undefined; endDate?: string | null | undefined },
): Promise<EventStatistics[]> {
  const range = readRange(startDate, endDate, ctx.now())
  if (typeof range === 'string') throw badRequest(range)
  const counts = await countEventsByName(ctx, range)
  const contacts = await uniqueContactsOf(ctx, counts, range)
  return counts.map(({ name, count }) => ({ name, count, uniqueContacts: contacts.get(name) ?? 0 }))
}

/** How often each event happened in a range, the 1,000 most frequent names. */
export async function countEventsByName(ctx: Ctx, range: Range): Promise<NameCount[]> {
  const keptDays = ctx.config.eventCountRetentionDays
  const countedFrom = new Date(ctx.now().getTime() - keptDays * DAY_MS)
  const { days, before, after } = splitRange(range, countedFrom)
  const rest = [before, after]
    .filter(({ from, to }) => from < to)
    .map(({ from, to }) => ({ from: earliestId(from), to: earliestId(to) }))
  const { statement, params } = countsByName(
    projectIdOf(ctx),
    await openEvents(ctx),
    { ...range, days, rest },
    { limit: MAX_NAMES, looked: NAMES_LOOKED_AT },
  )
  return ctx.sql(statement, params)
}

export type EventUsage = Usage & { totalCount: number; uniqueContacts: number; canDelete: boolean }

/** Everything that names the event, how often it happened, and to how many contacts. */
export async function eventUsage(ctx: Ctx, name: string): Promise<EventUsage> {
  if (name.length > MAX_EVENT_NAME)
    throw badRequest(`Names of events have at most ${MAX_EVENT_NAME} characters.`)
  const usage = await usageOf(ctx, 'EVENT', name)
  const totalCount = await countEventsOf(ctx, name)
  const contacts = await uniqueContactsOf(ctx, [{ name, count: totalCount }], ALWAYS)
  return {
    ...usage,
    totalCount,
    uniqueContacts: contacts.get(name) ?? 0,
    canDelete: !isUsed(usage) && !isReservedEvent(name),
  }
}

const ALWAYS: Range = { from: new Date(0), to: new Date(Date.UTC(9999, 0)) }
