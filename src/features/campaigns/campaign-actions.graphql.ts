import { builder } from '../../graphql/builder.ts'
import { idOf, requiredId } from '../../graphql/common-fields.ts'
import { CampaignStatusRef } from '../../graphql/enums.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { get, post } from '../../graphql/rest-route.ts'
import { ratesOf, recipientsOf } from '../../messages/campaign-counts.rules.ts'
import { CampaignRef } from './campaigns.graphql.ts'
import { localScheduleInput, sendCampaignInput, testCampaignInput } from './campaigns.input.ts'
import { type CampaignState, getCampaignState } from './find-campaign.ts'
import { scheduleLocally } from './local-times.ts'
import { cancelCampaign, pauseCampaign, sendCampaign } from './run-campaign.ts'
import { type CampaignTest, testCampaign } from './test-campaign.ts'
import { watchCampaign } from './watch-campaign.ts'

const TAG = 'Campaigns'
const ID = requiredId('campaign')

const SentCampaignRef = builder
  .objectRef<{ campaign: CampaignState; message: string }>('SentCampaign')
  .implement({
    description: 'A campaign that is being sent, or was scheduled.',
    fields: (t) => ({
      id: t.id({ ...idOf('campaign'), resolve: ({ campaign }) => campaign.id }),
      name: t.string({ description: 'Name of the campaign.', resolve: ({ campaign }) => campaign.name }),
      status: t.field({
        type: CampaignStatusRef,
        description: 'State of the campaign: SENDING or SCHEDULED.',
        resolve: ({ campaign }) => campaign.status,
      }),
      scheduledFor: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'Time that the campaign is scheduled for, in UTC; null when it was not.',
        resolve: ({ campaign }) => campaign.scheduledFor,
      }),
      message: t.exposeString('message', { description: 'Sentence that says when the campaign is sent.' }),
    }),
  })

builder.mutationField('sendCampaign', (t) =>
  t.field({
    description:
      'Sends a campaign at once or schedules it. The audience is evaluated when the sending starts; from then on content and audience stay as they are.',
    type: SentCampaignRef,
    access: 'secretKey',
    rest: post('/campaigns/:id/send', TAG, {
      wrapped: true,
      besideData: 'message',
      errors: [
        'BAD_REQUEST',
        'BILLING_LIMIT_EXCEEDED',
        'CAMPAIGN_NOT_FOUND',
        'DOMAIN_NOT_VERIFIED',
        'CONFLICT',
      ],
    }),
    args: {
      id: t.arg.id({ required: true, description: 'Id of the campaign; what is no UUID is 422.' }),
      input: t.arg(inputArgument('SendCampaignInput', sendCampaignInput)),
    },
    resolve: (_root, args, ctx) => sendCampaign(ctx, args.id, args.input),
  }),
)

builder.mutationField('scheduleCampaignLocally', (t) =>
  t.field({
    description:
      'Schedules a campaign for a time by the clocks of its recipients. The sending starts when that time comes first anywhere on earth, and the audience is evaluated then; recipients for whom the time is over get it at once.',
    type: SentCampaignRef,
    access: 'secretKey',
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('LocalScheduleInput', localScheduleInput)),
    },
    resolve: (_root, args, ctx) => scheduleLocally(ctx, args.id, args.input),
  }),
)

builder.mutationField('cancelCampaign', (t) =>
  t.field({
    description:
      'Stops a campaign that is SCHEDULED or SENDING for good: what has not been handed over to the mail provider never is.',
    type: CampaignRef,
    access: 'secretKey',
    rest: post('/campaigns/:id/cancel', TAG, {
      wrapped: true,
      errors: ['CAMPAIGN_NOT_FOUND', 'CONFLICT'],
    }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => cancelCampaign(ctx, args.id),
  }),
)

const CampaignTestRef = builder.objectRef<CampaignTest>('CampaignTest').implement({
  description: 'A test of a campaign that was accepted for sending.',
  fields: (t) => ({
    emailId: t.exposeID('emailId', idOf('email')),
    email: t.exposeString('email', { description: 'Address that the test goes to, in lower case.' }),
  }),
})

builder.mutationField('testCampaign', (t) =>
  t.field({
    description:
      'Sends a campaign, in whatever state, to one contact or member of the project, with "[TEST] " before its subject. It is not counted.',
    type: CampaignTestRef,
    access: 'secretKey',
    rest: post('/campaigns/:id/test', TAG, {
      wrapped: true,
      errors: ['FORBIDDEN', 'CAMPAIGN_NOT_FOUND', 'DOMAIN_NOT_VERIFIED'],
      graphqlOnly: ['variant'],
    }),
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('TestCampaignInput', testCampaignInput)),
      variant: t.arg.int({
        description: 'Number of a variant of its A/B test, 1 to 4; without it the campaign itself.',
      }),
    },
    resolve: (_root, args, ctx) => testCampaign(ctx, args.id, args.input.email, args.variant ?? null),
  }),
)

const COUNTERS = {
  pendingCount: 'Number of recipients whose turn has not come.',
  sendingCount: 'Number of recipients whose message is in the delivery queue or being handed over.',
  sentCount: 'Number of messages that were handed over to the mail provider.',
  failedCount: 'Number of recipients for whom the message was given up.',
  suppressedCount: 'Number of recipients whose address must not be written to.',
  skippedCount: 'Number of recipients who were left out: not subscribed, or deleted meanwhile.',
  cancelledCount: 'Number of recipients who were not written to because the campaign was cancelled.',
  deliveredCount: 'Number of messages that the servers of recipients have accepted, as far as known.',
  openedCount: 'Number of recipients who opened the message; machines are not counted.',
  clickedCount: 'Number of recipients who followed a link of the message; machines are not counted.',
  bouncedCount: 'Number of messages that came back.',
  complainedCount: 'Number of messages that were reported as spam.',
  unsubscribedCount: 'Number of recipients who unsubscribed by a link of the message.',
} as const

const CampaignStatsRef = builder.objectRef<CampaignState>('CampaignStats').implement({
  description:
    'Numbers of a campaign at this moment. Every recipient is in exactly one of the seven states that come first.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('campaign')),
    status: t.expose('status', { type: CampaignStatusRef, description: 'State of the campaign.' }),
    totalRecipients: t.int({
      description: 'Number of contacts in the ledger of the campaign: the sum of the states.',
      resolve: recipientsOf,
    }),
    pendingCount: t.exposeInt('pendingCount', { description: COUNTERS.pendingCount }),
    sendingCount: t.exposeInt('sendingCount', { description: COUNTERS.sendingCount }),
    sentCount: t.exposeInt('sentCount', { description: COUNTERS.sentCount }),
    failedCount: t.exposeInt('failedCount', { description: COUNTERS.failedCount }),
    suppressedCount: t.exposeInt('suppressedCount', { description: COUNTERS.suppressedCount }),
    skippedCount: t.exposeInt('skippedCount', { description: COUNTERS.skippedCount }),
    cancelledCount: t.exposeInt('cancelledCount', { description: COUNTERS.cancelledCount }),
    deliveredCount: t.exposeInt('deliveredCount', { description: COUNTERS.deliveredCount }),
    openedCount: t.exposeInt('openedCount', { description: COUNTERS.openedCount }),
    clickedCount: t.exposeInt('clickedCount', { description: COUNTERS.clickedCount }),
    bouncedCount: t.exposeInt('bouncedCount', { description: COUNTERS.bouncedCount }),
    complainedCount: t.exposeInt('complainedCount', { description: COUNTERS.complainedCount }),
    unsubscribedCount: t.exposeInt('unsubscribedCount', { description: COUNTERS.unsubscribedCount }),
    openRate: t.float({
      description: 'Recipients who opened, in percent of the messages that were sent and did not come back.',
      resolve: (counts) => ratesOf(counts).openRate,
    }),
    clickRate: t.float({
      description: 'Recipients who followed a link, in percent of the same.',
      resolve: (counts) => ratesOf(counts).clickRate,
    }),
    bounceRate: t.float({
      description: 'Messages that came back, in percent of those that were sent.',
      resolve: (counts) => ratesOf(counts).bounceRate,
    }),
    deliveryRate: t.float({
      description: 'Messages that are known to be delivered, in percent of those that were sent.',
      resolve: (counts) => ratesOf(counts).deliveryRate,
    }),
    complaintRate: t.float({
      description: 'Reports as spam, in percent of the messages that were sent and did not come back.',
      resolve: (counts) => ratesOf(counts).complaintRate,
    }),
    unsubscribeRate: t.float({
      description: 'Recipients who unsubscribed, in percent of the same.',
      resolve: (counts) => ratesOf(counts).unsubscribeRate,
    }),
  }),
})

builder.queryField('campaignStats', (t) =>
  t.field({
    description: 'The numbers of a campaign at this moment.',
    type: CampaignStatsRef,
    access: 'secretKey',
    rest: get('/campaigns/:id/stats', TAG, { wrapped: true, errors: ['CAMPAIGN_NOT_FOUND'] }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => getCampaignState(ctx, args.id),
  }),
)

builder.subscriptionField('campaignProgress', (t) =>
  t.field({
    description:
      'The numbers of a campaign as they are, and then whenever they have changed, until it is SENT or CANCELLED.',
    type: CampaignStatsRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    subscribe: (_root, args, ctx) => watchCampaign(ctx, args.id),
    resolve: (campaign) => campaign,
  }),
)

builder.mutationField('pauseCampaign', (t) =>
  t.field({
    description: 'Stops a campaign that is SENDING until it is resumed.',
    type: CampaignRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => pauseCampaign(ctx, args.id, true),
  }),
)

builder.mutationField('resumeCampaign', (t) =>
  t.field({
    description: 'Has a campaign that was paused go on.',
    type: CampaignRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => pauseCampaign(ctx, args.id, false),
  }),
)
