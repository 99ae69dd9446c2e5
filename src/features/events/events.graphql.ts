import { AudienceUsage } from '../../graphql/audience-usage.ts'
import { builder } from '../../graphql/builder.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { relatedPages } from '../../graphql/related-pages.ts'
import { get, remove } from '../../graphql/rest-route.ts'
import { Contact } from '../contacts/contacts.graphql.ts'
import {
  type EventStatistics,
  type EventUsage,
  eventStatistics,
  eventUsage,
  listEventNames,
} from '../event-statistics/event-statistics.ts'
import { deleteEventsOf } from './delete-events.ts'
import { countContactEvents, listContactEvents, listEvents, pagesOfContactEvents } from './events.ts'

export const Event = builder.prismaObject('Event', {
  description: 'Something that a contact did, or that happened to a contact or to mail.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    contactId: t.exposeID('contactId'),
    emailId: t.exposeID('emailId', { nullable: true, description: 'The message that it is about.' }),
    data: t.field({ type: 'JSON', resolve: ({ data }) => data }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

export const EventPage = cursorPageOf('EventPage', Event)

const eventsOf = relatedPages({
  name: 'events of contact',
  read: pagesOfContactEvents,
  count: countContactEvents,
})

builder.objectField(Contact, 'events', (t) =>
  t.field({
    description: 'What the contact did, the newest first.',
    type: EventPage,
    extensions: { relation: true },
    args: cursorArguments,
    resolve: ({ id }, args, ctx) => eventsOf(ctx, id, args),
  }),
)

builder.queryField('events', (t) =>
  t.field({
    description: 'Events of the project, the newest first.',
    type: EventPage,
    access: 'secretKey',
    rest: get('/events', 'Events', { errors: ['BAD_REQUEST'] }),
    args: {
      ...cursorArguments,
      eventName: t.arg.string({ description: 'Only events of this name.' }),
      contactId: t.arg.id({ description: 'Only events of this contact.' }),
    },
    resolve: (_root, request, ctx) => listEvents(ctx, request),
  }),
)

builder.queryField('contactEvents', (t) =>
  t.field({
    description: 'All events of a contact, the newest first.',
    type: EventPage,
    access: 'secretKey',
    rest: get('/events/contact/:contactId', 'Events', { errors: ['BAD_REQUEST', 'CONTACT_NOT_FOUND'] }),
    args: { contactId: t.arg.id({ required: true }), ...cursorArguments },
    resolve: (_root, { contactId, ...request }, ctx) => listContactEvents(ctx, contactId, request),
  }),
)

const EventStatisticsRef = builder.objectRef<EventStatistics>('EventStatistics').implement({
  description: 'How often an event happened.',
  fields: (t) => ({
    name: t.exposeString('name'),
    count: t.exposeInt('count'),
    uniqueContacts: t.exposeInt('uniqueContacts', {
      description:
        'How many contacts it happened to: exact for few events or few contacts, an estimate for many.',
    }),
  }),
})

builder.queryField('eventStats', (t) =>
  t.field({
    description:
      'How often which events happened in a range of days: the 1,000 most frequent, of a project with more than 3,000 names among those that have happened most.',
    type: [EventStatisticsRef],
    access: 'secretKey',
    rest: get('/events/stats', 'Events', { errors: ['BAD_REQUEST'] }),
    args: {
      startDate: t.arg.string({
        description: 'A day (2026-03-04, UTC) or an instant; 30 days before the end by default.',
      }),
      endDate: t.arg.string({
        description:
          'A day, which is included, or an instant; now by default. Of more than 90 days the last 90 count.',
      }),
    },
    resolve: (_root, range, ctx) => eventStatistics(ctx, range),
  }),
)

const EventNames = builder.objectRef<string[]>('EventNames').implement({
  description: 'The names of events.',
  fields: (t) => ({ eventNames: t.stringList({ resolve: (names) => names }) }),
})

builder.queryField('eventNames', (t) =>
  t.field({
    description: 'Every name that events of the project have, in alphabetical order; the first 100,000.',
    type: EventNames,
    access: 'secretKey',
    rest: get('/events/names', 'Events'),
    resolve: (_root, _args, ctx) => listEventNames(ctx),
  }),
)

const EventUsageRef = builder.objectRef<EventUsage>('EventUsage').implement({
  description: 'Where an event is used.',
  interfaces: [AudienceUsage],
  fields: (t) => ({
    totalCount: t.exposeInt('totalCount'),
    uniqueContacts: t.exposeInt('uniqueContacts', {
      description:
        'How many contacts it happened to: exact for few events or few contacts, an estimate for many.',
    }),
    canDelete: t.exposeBoolean('canDelete', {
      description: 'Nothing uses it, and the service does not write it itself.',
    }),
  }),
})

const eventName = { required: true, description: 'The name of the event.' } as const

builder.queryField('eventUsage', (t) =>
  t.field({
    description: 'Which segments, campaigns and workflows refer to an event, and how often it happened.',
    type: EventUsageRef,
    access: 'secretKey',
    rest: get('/events/:eventName/usage', 'Events', { errors: ['BAD_REQUEST'] }),
    args: { eventName: t.arg.string(eventName) },
    resolve: (_root, { eventName }, ctx) => eventUsage(ctx, eventName),
  }),
)

const DeletedEvents = builder.objectRef<{ deletedCount: number }>('DeletedEvents').implement({
  description: 'What came of the deletion of events.',
  fields: (t) => ({
    deletedCount: t.exposeInt('deletedCount', {
      description:
        'How many there were. What takes longer than some seconds is deleted in the background and no longer counted.',
    }),
  }),
})

builder.mutationField('deleteEvents', (t) =>
  t.field({
    description:
      'Deletes every event of a name, when nothing refers to it. DELETE /events?name= takes any name; as parts of paths stats, names and track mean something else.',
    type: DeletedEvents,
    access: 'secretKey',
    rest: remove('/events/:eventName', 'Events', {
      byQuery: { path: '/events', parameter: 'name', argument: 'eventName' },
      status: 200,
      errors: ['CONFLICT', 'VALIDATION_ERROR'],
    }),
    args: { eventName: t.arg.string(eventName) },
    resolve: async (_root, { eventName }, ctx) => ({ deletedCount: await deleteEventsOf(ctx, eventName) }),
  }),
)
