import { builder } from '../../graphql/builder.ts'
import { idOfOther } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { get } from '../../graphql/rest-route.ts'
import { rangeArguments } from '../analytics/analytics.graphql.ts'
import {
  type ActivityStats,
  activityStats,
  type RecentCount,
  recentCount,
  type Upcoming,
  upcomingActivity,
} from './activity.ts'
import { ACTIVITY_TYPES } from './activity-types.rules.ts'
import { type Activity, listActivity } from './feed.ts'
import { watchActivity } from './watch-activity.ts'

const TAG = 'Activity'
const MAY_FAIL = { errors: ['BAD_REQUEST'] } as const

const ActivityRef = builder.objectRef<Activity>('Activity').implement({
  description: 'Something that happened in the project: an entry of its feed.',
  fields: (t) => ({
    id: t.exposeString('id', {
      description: 'Identifies the entry: the id of an event; of others an id and what has happened to it.',
    }),
    type: t.exposeString('type', {
      description: 'What happened: one of the types that activityTypes lists.',
    }),
    timestamp: t.expose('timestamp', {
      type: 'DateTime',
      description: 'Time when it happened, in UTC with milliseconds.',
    }),
    contactId: t.exposeID('contactId', {
      nullable: true,
      ...idOfOther('the contact that it is about', 'when it is about a campaign'),
    }),
    contactEmail: t.exposeString('contactEmail', {
      nullable: true,
      description: 'Address of that contact; null when the entry is about a campaign.',
    }),
    metadata: t.field({
      type: 'JSON',
      description:
        'More of it: for event.triggered eventName and data, for mail and subscriptions the data of their events, for campaigns and workflows their ids, names and states.',
      resolve: ({ metadata }) => metadata,
    }),
  }),
})

const filterArguments = builder.args((t) => ({
  types: t.stringList({ description: 'Types of the entries to return; without it all.' }),
  contactId: t.id({
    description: 'Id of the contact whose entries to return, a UUID; without it entries of all contacts.',
  }),
}))

builder.queryField('activity', (t) =>
  t.field({
    description:
      'What happened in the project, the newest first: events, mail, subscriptions, campaigns and workflows.',
    type: cursorPageOf('ActivityPage', ActivityRef),
    access: 'secretKey',
    rest: get('/activity', TAG, MAY_FAIL),
    args: {
      ...cursorArguments,
      ...filterArguments,
      startDate: t.arg.string({
        description: 'Begin of the range: a day (2026-03-04, UTC) or an instant; none by default.',
      }),
      endDate: t.arg.string({
        description: 'End of the range: a day, which is included, or an instant; none by default.',
      }),
    },
    resolve: (_root, request, ctx) => listActivity(ctx, request),
  }),
)

const ActivityStatsRef = builder.objectRef<ActivityStats>('ActivityStats').implement({
  description: 'What happened in a range of days, in total. Tests of campaigns are not counted.',
  fields: (t) => ({
    totalEvents: t.exposeInt('totalEvents', {
      description: 'Number of events that the project tracked, of the 1,000 most frequent names.',
    }),
    totalEmailsSent: t.int({
      description: 'Number of messages that were handed over to the mail provider.',
      resolve: ({ sent }) => sent,
    }),
    totalEmailsDelivered: t.int({
      description: 'Number of messages that the servers of recipients have accepted, as far as known.',
      resolve: ({ delivered }) => delivered,
    }),
    totalEmailsOpened: t.int({
      description: 'Number of messages that a person opened for the first time.',
      resolve: ({ opened }) => opened,
    }),
    totalEmailsClicked: t.int({
      description: 'Number of messages of which a person followed a link for the first time.',
      resolve: ({ clicked }) => clicked,
    }),
    totalEmailsBounced: t.int({
      description: 'Number of messages that came back for good.',
      resolve: ({ bounced }) => bounced,
    }),
    totalEmailsComplained: t.int({
      description: 'Number of messages that were reported as spam.',
      resolve: ({ complained }) => complained,
    }),
    totalEmailsFailed: t.int({
      description: 'Number of messages that were given up.',
      resolve: ({ failed }) => failed,
    }),
    totalEmailsSuppressed: t.int({
      description: 'Number of messages that were not sent because their recipient must not be written to.',
      resolve: ({ suppressed }) => suppressed,
    }),
    totalEmailsReceived: t.int({
      description: 'Number of messages that came in.',
      resolve: ({ received }) => received,
    }),
    openRate: t.exposeFloat('openRate', {
      description: 'Opened messages, in percent of those that were sent and did not come back.',
    }),
    clickRate: t.exposeFloat('clickRate', {
      description: 'Messages of which a link was followed, in percent of the same.',
    }),
    deliveryRate: t.exposeFloat('deliveryRate', {
      description: 'Messages that are known to be delivered, in percent of those that were sent.',
    }),
    bounceRate: t.exposeFloat('bounceRate', {
      description: 'Messages that came back for good, in percent of those that were sent.',
    }),
    complaintRate: t.exposeFloat('complaintRate', {
      description: 'Reports as spam, in percent of the messages that were sent and did not come back.',
    }),
  }),
})

builder.queryField('activityStats', (t) =>
  t.field({
    description: 'Totals and rates of a range of days.',
    type: ActivityStatsRef,
    access: 'secretKey',
    rest: get('/activity/stats', TAG, MAY_FAIL),
    args: rangeArguments,
    resolve: (_root, request, ctx) => activityStats(ctx, request),
  }),
)

const RecentActivityCountRef = builder.objectRef<RecentCount>('RecentActivityCount').implement({
  description: 'How much happened a short while ago.',
  fields: (t) => ({
    count: t.exposeInt('count', {
      description: 'Number of entries of the feed, exact up to 10,000; more are told as 10,000.',
    }),
    minutes: t.exposeInt('minutes', { description: 'Number of minutes that were looked at.' }),
  }),
})

builder.queryField('recentActivityCount', (t) =>
  t.field({
    description: 'How many entries the feed has of the last minutes.',
    type: RecentActivityCountRef,
    access: 'secretKey',
    rest: get('/activity/recent-count', TAG, MAY_FAIL),
    args: {
      minutes: t.arg.int({
        description: 'Minutes to look at, from 1; 5 by default, and more than 1,440 are taken as 1,440.',
      }),
    },
    resolve: (_root, { minutes }, ctx) => recentCount(ctx, minutes),
  }),
)

const ActivityTypesRef = builder.objectRef<readonly string[]>('ActivityTypes').implement({
  description: 'The types that entries of the feed can have.',
  fields: (t) => ({
    types: t.stringList({ description: 'Every type, such as email.sent.', resolve: (types) => [...types] }),
  }),
})

builder.queryField('activityTypes', (t) =>
  t.field({
    description: 'Every type that an entry of the feed can have.',
    type: ActivityTypesRef,
    access: 'secretKey',
    rest: get('/activity/types', TAG),
    resolve: () => ACTIVITY_TYPES,
  }),
)

const UpcomingActivityRef = builder.objectRef<Upcoming>('UpcomingActivity').implement({
  description: 'Something that will happen at a time, unless it is stopped before.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the campaign, or of the execution of a workflow, a UUID.' }),
    type: t.exposeString('type', {
      description: 'What it is: campaign.scheduled, or workflow.waiting for an execution that waits.',
    }),
    scheduledFor: t.expose('scheduledFor', {
      type: 'DateTime',
      description:
        'Time when it goes on, in UTC; of a campaign by the clocks of its recipients when it begins anywhere.',
    }),
    name: t.exposeString('name', { description: 'Name of the campaign or the workflow.' }),
    contactId: t.exposeID('contactId', {
      nullable: true,
      ...idOfOther('the contact of the execution', 'for a campaign'),
    }),
    contactEmail: t.exposeString('contactEmail', {
      nullable: true,
      description: 'Address of that contact; null for a campaign.',
    }),
  }),
})

const UpcomingActivitiesRef = builder.objectRef<Upcoming[]>('UpcomingActivities').implement({
  description: 'What will happen in the next 30 days.',
  fields: (t) => ({
    data: t.field({
      type: [UpcomingActivityRef],
      description: 'What will happen, the next first.',
      resolve: (entries) => entries,
    }),
  }),
})

builder.queryField('upcomingActivity', (t) =>
  t.field({
    description: 'Campaigns that are scheduled and executions of workflows that wait, for the next 30 days.',
    type: UpcomingActivitiesRef,
    access: 'secretKey',
    rest: get('/activity/upcoming', TAG, MAY_FAIL),
    args: { limit: cursorArguments.limit },
    resolve: (_root, { limit }, ctx) => upcomingActivity(ctx, limit),
  }),
)

builder.subscriptionField('activityFeed', (t) =>
  t.field({
    description:
      'The newest 100 entries of the feed, then those that are added, whenever there are any; the newest first. When more than 100 come at once the newest 100 are told.',
    type: [ActivityRef],
    access: 'secretKey',
    args: filterArguments,
    subscribe: (_root, filter, ctx) => watchActivity(ctx, filter),
    resolve: (entries) => entries,
  }),
)
