import type { MailboxProvider } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { idOf, requiredId, timeWhen } from '../../graphql/common-fields.ts'
import { cursorArguments } from '../../graphql/cursor-page.ts'
import { CampaignStatusRef } from '../../graphql/enums.ts'
import { defineEnum } from '../../graphql/inputs/zod-input.ts'
import { get } from '../../graphql/rest-route.ts'
import { ratesOf } from '../../messages/campaign-counts.rules.ts'
import {
  type CampaignMetric,
  type CampaignOverview,
  type LinkClicks,
  linksOfCampaign,
  overviewOfCampaigns,
  type RankedCampaign,
  topCampaigns,
} from './campaign-ranks.ts'
import {
  type MailDay,
  type MailHour,
  mailByDay,
  mailByHour,
  mailOfProviders,
  mailRates,
  type ProviderMail,
} from './mail-counts.ts'
import { type TopEvent, topEvents } from './top-events.ts'

const TAG = 'Analytics'
const MAY_FAIL = { errors: ['BAD_REQUEST'] } as const

/** The range of days that something is counted in. */
export const rangeArguments = builder.args((t) => ({
  startDate: t.string({
    description:
      'Begin of the range: a day (2026-03-04) or an instant; by default 30 days are counted, the last one included.',
  }),
  endDate: t.string({
    description:
      'End of the range: a day, which is included, or an instant; today by default. Of more than 90 days the last 90 count.',
  }),
  tz: t.string({ description: 'Time zone of the days, such as Europe/Berlin; UTC by default.' }),
}))

const OPENED = 'Number of messages that a person opened for the first time.'
const CLICKED = 'Number of messages of which a person followed a link for the first time.'
const ALL_OPENS = 'Number of times that persons opened messages.'
const ALL_CLICKS = 'Number of times that persons followed links.'

const MailDayRef = builder.objectRef<MailDay>('MailDay').implement({
  description: 'What became of mail on one day. Tests of campaigns are not counted.',
  fields: (t) => ({
    date: t.exposeString('date', { description: 'Day in the time zone, such as 2026-03-04.' }),
    sent: t.exposeInt('sent', { description: 'Number of messages that were handed over to the provider.' }),
    delivered: t.exposeInt('delivered', {
      description: 'Number of messages that the servers of recipients have accepted, as far as known.',
    }),
    opens: t.int({ description: OPENED, resolve: ({ opened }) => opened }),
    clicks: t.int({ description: CLICKED, resolve: ({ clicked }) => clicked }),
    bounces: t.int({
      description: 'Number of messages that came back for good.',
      resolve: ({ bounced }) => bounced,
    }),
    complaints: t.int({
      description: 'Number of messages that were reported as spam.',
      resolve: ({ complained }) => complained,
    }),
    totalOpens: t.int({ description: ALL_OPENS, resolve: ({ opens }) => opens }),
    totalClicks: t.int({ description: ALL_CLICKS, resolve: ({ clicks }) => clicks }),
    botOpens: t.exposeInt('botOpens', { description: 'Number of times that machines opened messages.' }),
    botClicks: t.exposeInt('botClicks', { description: 'Number of times that machines followed links.' }),
  }),
})

builder.queryField('mailTimeseries', (t) =>
  t.field({
    description: 'What became of mail on each day of a range, days without any mail included.',
    type: [MailDayRef],
    access: 'secretKey',
    rest: get('/analytics/timeseries', TAG, MAY_FAIL),
    args: rangeArguments,
    resolve: (_root, request, ctx) => mailByDay(ctx, request),
  }),
)

const CampaignMetricRef = defineEnum<CampaignMetric>('CampaignMetric', {
  description: 'What campaigns are compared by.',
  values: {
    opens: { description: 'Number of recipients who opened the message.' },
    clicks: { description: 'Number of recipients who followed a link of the message.' },
    openRate: { description: 'Those who opened, in percent of the messages that did not come back.' },
    clickRate: { description: 'Those who followed a link, in percent of the same.' },
  },
})

const TopCampaignRef = builder.objectRef<RankedCampaign>('TopCampaign').implement({
  description: 'A campaign that is compared with others.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('campaign')),
    name: t.exposeString('name', { description: 'Name of the campaign.' }),
    subject: t.exposeString('subject', { description: 'Subject of the campaign, as it was written.' }),
    status: t.expose('status', { type: CampaignStatusRef, description: 'State of the campaign.' }),
    sentCount: t.exposeInt('sentCount', { description: 'Number of messages that were handed over.' }),
    openedCount: t.exposeInt('openedCount', { description: 'Number of recipients who opened the message.' }),
    clickedCount: t.exposeInt('clickedCount', {
      description: 'Number of recipients who followed a link of the message.',
    }),
    openRate: t.float({
      description: 'Recipients who opened, in percent of the messages that were sent and did not come back.',
      resolve: (campaign) => ratesOf(campaign).openRate,
    }),
    clickRate: t.float({
      description: 'Recipients who followed a link, in percent of the same.',
      resolve: (campaign) => ratesOf(campaign).clickRate,
    }),
    sentAt: t.expose('sentAt', timeWhen('every recipient was in a final state')),
  }),
})

builder.queryField('topCampaigns', (t) =>
  t.field({
    description: 'The campaigns whose sending began in a range, the first ones by a metric.',
    type: [TopCampaignRef],
    access: 'secretKey',
    rest: get('/analytics/top-campaigns', TAG, MAY_FAIL),
    args: {
      ...rangeArguments,
      metric: t.arg({
        type: CampaignMetricRef,
        defaultValue: 'opens',
        description: 'What they are compared by.',
      }),
      limit: cursorArguments.limit,
    },
    resolve: (_root, request, ctx) => topCampaigns(ctx, request),
  }),
)

const CampaignOverviewRef = builder.objectRef<CampaignOverview>('CampaignOverview').implement({
  description: 'The campaigns of a range of days.',
  fields: (t) => ({
    total: t.exposeInt('total', {
      description: 'Number of campaigns that began in the range, or were created in it and have not begun.',
    }),
    active: t.exposeInt('active', { description: 'Number of those that are SCHEDULED or SENDING.' }),
    completed: t.exposeInt('completed', { description: 'Number of those that are SENT.' }),
    averageOpenRate: t.exposeFloat('averageOpenRate', {
      description: 'Mean of the open rates of those of which messages have left, in percent.',
    }),
    averageClickRate: t.exposeFloat('averageClickRate', {
      description: 'Mean of the click rates of those of which messages have left, in percent.',
    }),
  }),
})

builder.queryField('campaignOverview', (t) =>
  t.field({
    description: 'How many campaigns a range of days has, by state, and their mean rates.',
    type: CampaignOverviewRef,
    access: 'secretKey',
    rest: get('/analytics/campaign-stats', TAG, MAY_FAIL),
    args: rangeArguments,
    resolve: (_root, request, ctx) => overviewOfCampaigns(ctx, request),
  }),
)

const TopEventRef = builder.objectRef<TopEvent>('TopEvent').implement({
  description: 'An event that the project tracks, and how often it happened.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the event.' }),
    count: t.exposeInt('count', { description: 'Number of times that it happened in the range.' }),
    trend: t.exposeFloat('trend', {
      description:
        'Growth compared with as long a time before the range, in percent; 100 when it did not happen then.',
    }),
  }),
})

builder.queryField('topEvents', (t) =>
  t.field({
    description: 'The events that the project tracked most often in a range.',
    type: [TopEventRef],
    access: 'secretKey',
    rest: get('/analytics/top-events', TAG, MAY_FAIL),
    args: { ...rangeArguments, limit: cursorArguments.limit },
    resolve: (_root, request, ctx) => topEvents(ctx, request),
  }),
)

const MailboxProviderRef = defineEnum<MailboxProvider>('MailboxProvider', {
  description: 'Who keeps the mailbox of a recipient, by the domain of the address.',
  values: {
    GMAIL: { description: 'Google, for consumers.' },
    OUTLOOK: { description: 'Microsoft, for consumers: Outlook.com, Hotmail, Live, MSN.' },
    YAHOO: { description: 'Yahoo and AOL.' },
    APPLE: { description: 'Apple iCloud.' },
    OTHER: { description: 'All others, domains of firms among them.' },
  },
})

const ProviderMailRef = builder.objectRef<ProviderMail>('ProviderMail').implement({
  description: 'What became of mail to the recipients of one mailbox provider.',
  fields: (t) => ({
    provider: t.expose('provider', { type: MailboxProviderRef, description: 'Who keeps the mailboxes.' }),
    sent: t.exposeInt('sent', { description: 'Number of messages that were handed over.' }),
    delivered: t.exposeInt('delivered', { description: 'Number of messages that were accepted.' }),
    bounced: t.exposeInt('bounced', { description: 'Number of messages that came back for good.' }),
    complained: t.exposeInt('complained', { description: 'Number of messages reported as spam.' }),
    opened: t.exposeInt('opened', { description: OPENED }),
    clicked: t.exposeInt('clicked', { description: CLICKED }),
    openRate: t.float({
      description: 'Opened messages, in percent of those that were sent and did not come back.',
      resolve: (counts) => mailRates(counts).openRate,
    }),
    clickRate: t.float({
      description: 'Messages of which a link was followed, in percent of the same.',
      resolve: (counts) => mailRates(counts).clickRate,
    }),
    bounceRate: t.float({
      description: 'Messages that came back for good, in percent of those that were sent.',
      resolve: (counts) => mailRates(counts).bounceRate,
    }),
    complaintRate: t.float({
      description: 'Reports as spam, in percent of the messages that were sent and did not come back.',
      resolve: (counts) => mailRates(counts).complaintRate,
    }),
  }),
})

builder.queryField('mailByProvider', (t) =>
  t.field({
    description:
      'What became of mail in a range, by the mailbox providers of its recipients; those without any are left out.',
    type: [ProviderMailRef],
    access: 'secretKey',
    args: rangeArguments,
    resolve: (_root, request, ctx) => mailOfProviders(ctx, request),
  }),
)

const MailHourRef = builder.objectRef<MailHour>('MailHour').implement({
  description: 'What people did with mail in one hour of the day, over all days of a range.',
  fields: (t) => ({
    hour: t.exposeInt('hour', { description: 'Hour of the day in the time zone, 0 to 23.' }),
    opened: t.exposeInt('opened', { description: OPENED }),
    clicked: t.exposeInt('clicked', { description: CLICKED }),
    opens: t.exposeInt('opens', { description: ALL_OPENS }),
    clicks: t.exposeInt('clicks', { description: ALL_CLICKS }),
  }),
})

builder.queryField('mailByHour', (t) =>
  t.field({
    description: 'Opens and clicks of a range by the hour of the day: 24 of them.',
    type: [MailHourRef],
    access: 'secretKey',
    args: rangeArguments,
    resolve: (_root, request, ctx) => mailByHour(ctx, request),
  }),
)

const LinkClicksRef = builder.objectRef<LinkClicks>('LinkClicks').implement({
  description: 'A link of a campaign, and how often it was followed.',
  fields: (t) => ({
    link: t.exposeString('link', { description: 'Where the link leads.' }),
    clicks: t.exposeInt('clicks', { description: 'Number of times that persons followed it.' }),
    botClicks: t.exposeInt('botClicks', { description: 'Number of times that machines followed it.' }),
  }),
})

builder.queryField('campaignLinks', (t) =>
  t.field({
    description: 'The links of a campaign that were followed, the most popular first.',
    type: [LinkClicksRef],
    access: 'secretKey',
    args: { id: t.arg.id(requiredId('campaign')), limit: cursorArguments.limit },
    resolve: (_root, request, ctx) => linksOfCampaign(ctx, request),
  }),
)
