import { MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest, notFound } from '../../errors.ts'
import type { Event } from '../../generated/prisma/client.ts'
import { isId, timeOfId } from '../../lib/ids.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'
import { findContact } from '../contacts/contacts.ts'
import { countEventsOf } from '../event-statistics/event-counts.ts'
import { contactEvents, countOfContact, eventPage } from './events.sql.ts'

/** The events that contacts have, the newest first. */
export const { read: pagesOfContactEvents, count: countContactEvents } = contactEvents

type Maybe<Value> = Value | null | undefined

export type EventListRequest = {
  limit?: Maybe<number>
  cursor?: Maybe<string>
  eventName?: Maybe<string>
  contactId?: Maybe<string>
}

export type EventPage = CursorPage<Event> & { countTotal: () => Promise<number> }

const ORDER = 'events'

/** Events of the project, the newest first; of one name or of one contact if that is asked for. */
export async function listEvents(ctx: Ctx, request: EventListRequest): Promise<EventPage> {
  const limit = pageLimit(request.limit)
  const name = request.eventName || null
  const contactId = request.contactId || null
  if (name && name.length > MAX_EVENT_NAME)
    throw badRequest(`Names of events have at most ${MAX_EVENT_NAME} characters.`)
  if (contactId && !isId(contactId)) throw badRequest('The parameter contactId must be the id of a contact.')
  const before = request.cursor ? keyOfCursor(request.cursor, ORDER, isId) : null
  const asked = {
    projectId: projectIdOf(ctx),
    name,
    contactId,
    before,
    beforeTime: before === null ? null : timeOfId(before),
    limit: limit + 1,
  }
  const rows = await ctx.sql(eventPage(asked), asked)
  const page = pageFrom(rows, limit, ({ id }) => cursorAfter(ORDER, id))
  const countTotal = async () => {
    if (before) return 0
    return page.hasMore ? countEvents(ctx, name, contactId) : page.data.length
  }
  return { ...page, countTotal }
}

async function countEvents(ctx: Ctx, name: string | null, contactId: string | null): Promise<number> {
  if (!contactId) return countEventsOf(ctx, name)
  const [row] = await ctx.sql(countOfContact, { projectId: projectIdOf(ctx), contactId, name })
  return row?.count ?? 0
}

/** All events of one contact. Throws CONTACT_NOT_FOUND when there is none. */
export async function listContactEvents(
  ctx: Ctx,
  contactId: string,
  request: Pick<EventListRequest, 'limit' | 'cursor'>,
): Promise<EventPage> {
  if (!isId(contactId)) throw notFound('The contact')
  await findContact(ctx, { id: contactId })
  return listEvents(ctx, { ...request, contactId })
}
