import { AudienceUsageRef } from '../../graphql/audience-usage.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, idOfOther, requiredId } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { relatedPages } from '../../graphql/related-pages.ts'
import { get, remove } from '../../graphql/rest-route.ts'
import { ContactRef } from '../contacts/contacts.graphql.ts'
import {
  type EventStatistics,
  type EventUsage,
  eventStatistics,
  eventUsage,
  listEventNames,
} from '../event-statistics/event-statistics.ts'
import { deleteEventsOf } from './delete-events.ts'
import { countContactEvents, listContactEvents, listEvents, pagesOfContactEvents } from './events.ts'

export const EventRef = builder.prismaObject('Event', {
  description: 'Something that a contact did, or that happened to a contact or to mail.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('event')),
    name: t.exposeString('name', {
      description:
        'Name of the event, at most 255 characters; those of the service begin with email., contact. or segment.',
    }),
    contactId: t.exposeID('contactId', idOfOther('the contact that the event is about')),
    emailId: t.exposeID('emailId', {
      nullable: true,
      ...idOfOther('the message that the event is about', 'when it is about none'),
    }),
    data: t.field({
      type: 'JSON',
      description: 'Data of the event, an object of at most 64 KB, with one-off values unwrapped.',
      resolve: ({ data }) => data,
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
  }),
})

export const EventPageRef = cursorPageOf('EventPage', EventRef)

const eventsOf = relatedPages({
  name: 'events of contact',
  read: pagesOfContactEvents,
  count: countContactEvents,
})

builder.objectField(ContactRef, 'events', (t) =>
  t.field({
    description: 'Events of the contact, the newest first.',
    type: EventPageRef,
    extensions: { relation: true },
    args: cursorArguments,
    resolve: ({ id }, args, ctx) => eventsOf(ctx, id, args),
  }),
)

builder.queryField('events', (t) =>
  t.field({
    description: 'Events of the project, the newest first.',
    type: EventPageRef,
    access: 'secretKey',
    rest: get('/events', 'Events', { errors: ['BAD_REQUEST'] }),
    args: {
      ...cursorArguments,
      eventName: t.arg.string({
        description: 'Name of the events to return; without it events of all names.',
      }),
      contactId: t.arg.id({
        description: 'Id of the contact whose events to return, a UUID; without it events of all contacts.',
      }),
    },
    resolve: (_root, request, ctx) => listEvents(ctx, request),
  }),
)

builder.queryField('contactEvents', (t) =>
  t.field({
    description: 'All events of a contact, the newest first.',
    type: EventPageRef,
    access: 'secretKey',
    rest: get('/events/contact/:contactId', 'Events', { errors: ['BAD_REQUEST', 'CONTACT_NOT_FOUND'] }),
    args: { contactId: t.arg.id(requiredId('contact')), ...cursorArguments },
    resolve: (_root, { contactId, ...request }, ctx) => listContactEvents(ctx, contactId, request),
  }),
)

const UNIQUE_CONTACTS = {
  description:
    'Number of contacts that the event happened to: exact for few events or few contacts, an estimate for many.',
}

const EventStatisticsRef = builder.objectRef<EventStatistics>('EventStatistics').implement({
  description: 'Counts of one event in the requested range of days.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the event.' }),
    count: t.exposeInt('count', { description: 'Number of times that the event happened in the range.' }),
    uniqueContacts: t.exposeInt('uniqueContacts', UNIQUE_CONTACTS),
  }),
})

builder.queryField('eventStats', (t) =>
  t.field({
    description:
      'Counts of the 1,000 most frequent events in a range of days. In a project with more than 3,000 names only the events that happened most often are considered.',
    type: [EventStatisticsRef],
    access: 'secretKey',
    rest: get('/events/stats', 'Events', { errors: ['BAD_REQUEST'] }),
    args: {
      startDate: t.arg.string({
        description:
          'Begin of the range: a day (2026-03-04, UTC) or an instant; 30 days before the end by default.',
      }),
      endDate: t.arg.string({
        description:
          'End of the range: a day, which is included, or an instant; the present by default. Of more than 90 days the last 90 count.',
      }),
    },
    resolve: (_root, range, ctx) => eventStatistics(ctx, range),
  }),
)

const EventNamesRef = builder.objectRef<string[]>('EventNames').implement({
  description: 'The names that events of the project have.',
  fields: (t) => ({
    eventNames: t.stringList({
      description: 'Names in alphabetical order, the first 100,000; those of the service included.',
      resolve: (names) => names,
    }),
  }),
})

builder.queryField('eventNames', (t) =>
  t.field({
    description: 'Every name that events of the project have, in alphabetical order; the first 100,000.',
    type: EventNamesRef,
    access: 'secretKey',
    rest: get('/events/names', 'Events'),
    resolve: (_root, _args, ctx) => listEventNames(ctx),
  }),
)

const EventUsageRef = builder.objectRef<EventUsage>('EventUsage').implement({
  description: 'Everything that refers to an event, and how often it happened.',
  interfaces: [AudienceUsageRef],
  fields: (t) => ({
    totalCount: t.exposeInt('totalCount', { description: 'Number of times that the event ever happened.' }),
    uniqueContacts: t.exposeInt('uniqueContacts', UNIQUE_CONTACTS),
    canDelete: t.exposeBoolean('canDelete', {
      description:
        'Whether the event can be deleted: nothing refers to it, and it is not one of the service.',
    }),
  }),
})

const EVENT_NAME = { required: true, description: 'Name of the event, at most 255 characters.' } as const

builder.queryField('eventUsage', (t) =>
  t.field({
    description: 'The segments, campaigns and workflows that refer to an event, and how often it happened.',
    type: EventUsageRef,
    access: 'secretKey',
    rest: get('/events/:eventName/usage', 'Events', { errors: ['BAD_REQUEST'] }),
    args: { eventName: t.arg.string(EVENT_NAME) },
    resolve: (_root, { eventName }, ctx) => eventUsage(ctx, eventName),
  }),
)

const DeletedEventsRef = builder.objectRef<{ deletedCount: number }>('DeletedEvents').implement({
  description: 'Outcome of the deletion of events.',
  fields: (t) => ({
    deletedCount: t.exposeInt('deletedCount', {
      description:
        'Number of deleted events. Events that take longer than some seconds are deleted in the background; they are left out of all counts at once.',
    }),
  }),
})

builder.mutationField('deleteEvents', (t) =>
  t.field({
    description:
      'Deletes every event of a name, when nothing refers to it. DELETE /events?name= takes any name; as parts of paths stats, names and track mean something else.',
    type: DeletedEventsRef,
    access: 'secretKey',
    rest: remove('/events/:eventName', 'Events', {
      byQuery: { path: '/events', parameter: 'name', argument: 'eventName' },
      status: 200,
      errors: ['CONFLICT', 'VALIDATION_ERROR'],
    }),
    args: { eventName: t.arg.string(EVENT_NAME) },
    resolve: async (_root, { eventName }, ctx) => ({ deletedCount: await deleteEventsOf(ctx, eventName) }),
  }),
)
