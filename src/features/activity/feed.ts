import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import type { Event } from '../../generated/prisma/client.ts'
import { earliestId, isId, LAST_ID } from '../../lib/ids.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import {
  ACTIVITY_TYPES,
  NAMED_EVENTS,
  type Place,
  placeText,
  readPlace,
  readSpan,
  SOURCES,
  type Source,
  selectionOf,
  typeOf,
} from './activity-types.rules.ts'
import { type FeedParams, type FeedRow, feedCount, feedRows } from './feed.sql.ts'

type Maybe<Value> = Value | null | undefined

export type FeedFilter = {
  types?: Maybe<string[]>
  contactId?: Maybe<string>
  startDate?: Maybe<string>
  endDate?: Maybe<string>
}

export type FeedRequest = FeedFilter & { limit?: Maybe<number>; cursor?: Maybe<string> }

/** Something that happened in the project. */
export type Activity = {
  id: string
  type: string
  timestamp: Date
  contactId: string | null
  contactEmail: string | null
  metadata: Event['data']
}

type Entry = Activity & { place: Place }

export type ActivityPage = CursorPage<Activity> & { countTotal: () => Promise<number> }

const ORDER = 'activity'
/** Entries of a source that are counted. */
const COUNTED = 10_000
const NO_ID = '00000000-0000-0000-0000-000000000000'

/** What happened in the project, the newest first; of some types, or of one contact, if that is asked for. */
export async function listActivity(
  ctx: Ctx,
  { limit, cursor, ...filter }: FeedRequest,
): Promise<ActivityPage> {
  const size = pageLimit(limit)
  const after = cursor ? readPlace(keyOfCursor(cursor, ORDER, (key) => readPlace(key) !== null)) : null
  const { selection, params } = asked(ctx, filter, after)
  const statement = feedRows(selection, params.contactId)
  const rows = statement ? await ctx.sql(statement, { ...params, limit: size + 1 }) : []
  const page = pageFrom(rows.map(entryOf), size, ({ place }) => cursorAfter(ORDER, placeText(place)))
  const countTotal = async () => {
    if (after) return 0
    return page.hasMore ? countActivity(ctx, filter) : page.data.length
  }
  return { ...page, countTotal }
}

/** How many entries there are, exact up to 10,000; more are taken as 10,000. */
export async function countActivity(ctx: Ctx, filter: FeedFilter): Promise<number> {
  const { selection, params } = asked(ctx, filter, null)
  const statement = feedCount(selection, params.contactId)
  const [row] = statement ? await ctx.sql(statement, { ...params, limit: COUNTED }) : []
  return Math.min(row?.count ?? 0, COUNTED)
}

function entryOf({ source, id, at, name, metadata, ...contact }: FeedRow): Entry {
  const type = typeOf(source, name)
  return {
    id: source === 'events' ? id : `${id}-${source}`,
    type,
    timestamp: new Date(at),
    ...contact,
    metadata: type === 'event.triggered' ? { eventName: name, data: metadata } : metadata,
    place: { at, source, id },
  }
}

const isWalkedById = (source: Source) => source === 'events' || source === 'started'

/** What is read for a filter after a place of the feed. Throws BAD_REQUEST for a filter that is not valid. */
function asked(ctx: Ctx, { types, contactId, startDate, endDate }: FeedFilter, after: Place | null) {
  const unknown = types?.find((type) => !ACTIVITY_TYPES.includes(type))
  if (unknown !== undefined)
    throw badRequest(`There is no type ${JSON.stringify(unknown)}; GET /activity/types lists them.`)
  if (contactId && !isId(contactId)) throw badRequest('The parameter contactId must be the id of a contact.')
  const span = readSpan(startDate, endDate)
  if (typeof span === 'string') throw badRequest(span)
  const contact = contactId?.toLowerCase() || null
  const selection = selectionOf(types?.length ? types : null, contact)
  const before = boundaries(span.to, after)
  const eventsBefore = before('events')
  const params: Omit<FeedParams, 'limit'> = {
    projectId: projectIdOf(ctx),
    contactId: contact,
    sources: [...SOURCES],
    names: selection.names ?? [],
    named: [...NAMED_EVENTS],
    from: new Date(span.from),
    firstId: earliestId(new Date(span.from)),
    eventsBefore: eventsBefore.id,
    eventsUntil: eventsBefore.time,
    startedBefore: before('started').id,
    scheduledUntil: before('scheduled').time,
    scheduledBefore: before('scheduled').id,
    sentUntil: before('sent').time,
    sentBefore: before('sent').id,
    completedUntil: before('completed').time,
    completedBefore: before('completed').id,
  }
  return { selection, params }
}

/** Up to which time, and below which id, entries of a source are read: those before the end and after the place. */
function boundaries(end: number, after: Place | null) {
  const place = after && after.at < end ? after : null
  const time = new Date(place?.at ?? end)
  return (source: Source): { time: Date; id: string } => {
    const order = place ? SOURCES.indexOf(source) - SOURCES.indexOf(place.source) : 1
    if (place && order === 0) return { time, id: place.id }
    const all = order < 0
    if (!isWalkedById(source)) return { time, id: all ? LAST_ID : NO_ID }
    return { time, id: earliestId(new Date(time.getTime() + (all ? 1 : 0))) }
  }
}
