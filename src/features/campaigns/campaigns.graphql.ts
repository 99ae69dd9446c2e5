import type { AudienceType as AudienceTypeValue } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import {
  CREATED_AT,
  idOf,
  idOfOther,
  MESSAGE_FIELDS,
  PROJECT_ID,
  requiredId,
  timeWhen,
  UPDATED_AT,
} from '../../graphql/common-fields.ts'
import { CampaignStatusRef, MessageTypeRef } from '../../graphql/enums.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, orderArguments, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, put, remove } from '../../graphql/rest-route.ts'
import { recipientsOf } from '../../messages/campaign-counts.rules.ts'
import { campaignInput } from './campaigns.input.ts'
import {
  createCampaign,
  deleteCampaign,
  duplicateCampaign,
  listCampaigns,
  updateCampaign,
} from './campaigns.ts'
import { type Campaign, getCampaign } from './find-campaign.ts'

const AudienceTypeRef = defineEnum<AudienceTypeValue>('AudienceType', {
  description: 'Whom a campaign is for.',
  values: {
    ALL: { description: 'All contacts of the project.' },
    SEGMENT: { description: 'The members of a segment.' },
    FILTERED: { description: 'The contacts for which a condition is true.' },
  },
})

/** REST does not show it. */
const GRAPHQL_ONLY = { relation: true }

export const CampaignRef = builder.objectRef<Campaign>('Campaign').implement({
  description: 'One message to an audience, sent once to each contact in it.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('campaign')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    name: t.exposeString('name', MESSAGE_FIELDS.name),
    description: t.exposeString('description', MESSAGE_FIELDS.description),
    subject: t.exposeString('subject', MESSAGE_FIELDS.subject),
    body: t.exposeString('body', MESSAGE_FIELDS.body),
    from: t.exposeString('from', MESSAGE_FIELDS.from),
    fromName: t.exposeString('fromName', MESSAGE_FIELDS.fromName),
    replyTo: t.exposeString('replyTo', MESSAGE_FIELDS.replyTo),
    type: t.expose('type', { type: MessageTypeRef, description: 'Kind of the messages.' }),
    status: t.expose('status', { type: CampaignStatusRef, description: 'State of the campaign.' }),
    paused: t.exposeBoolean('paused', {
      description: 'Whether the sending has been stopped until it is resumed.',
    }),
    audienceType: t.expose('audienceType', {
      type: AudienceTypeRef,
      description: 'Whom the campaign is for.',
    }),
    segmentId: t.exposeID('segmentId', {
      nullable: true,
      ...idOfOther('the segment that the campaign is for', 'without one, and when it was deleted since'),
    }),
    audienceCondition: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Filter tree of a FILTERED audience; null for others.',
      resolve: ({ audienceCondition }) => audienceCondition,
    }),
    scheduledFor: t.expose('scheduledFor', {
      type: 'DateTime',
      nullable: true,
      description: 'Time that the campaign was scheduled for, in UTC; null when it was not.',
    }),
    localTime: t.string({
      nullable: true,
      description:
        'Time by the clocks of the recipients that the campaign was scheduled for, ISO 8601 without a time zone; null when it was not.',
      extensions: GRAPHQL_ONLY,
      resolve: ({ localTime }) => localTime?.toISOString().slice(0, -'.000Z'.length),
    }),
    timeZone: t.exposeString('timeZone', {
      nullable: true,
      description:
        'Time zone of recipients whose own is not known, when the campaign was scheduled by their clocks; null for others.',
      extensions: GRAPHQL_ONLY,
    }),
    totalRecipients: t.int({
      description:
        'Number of contacts in the ledger of the campaign, those included who may not get it. It grows while the sending starts.',
      resolve: recipientsOf,
    }),
    sentCount: t.exposeInt('sentCount', {
      description: 'Number of messages that were handed over to the mail provider.',
    }),
    deliveredCount: t.exposeInt('deliveredCount', {
      description: 'Number of messages that the servers of recipients have accepted, as far as known.',
    }),
    openedCount: t.exposeInt('openedCount', { description: 'Number of recipients who opened the message.' }),
    clickedCount: t.exposeInt('clickedCount', {
      description: 'Number of recipients who followed a link of the message.',
    }),
    bouncedCount: t.exposeInt('bouncedCount', { description: 'Number of messages that came back.' }),
    sentAt: t.expose('sentAt', timeWhen('every recipient was in a final state')),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const CampaignPageRef = offsetPageOf('CampaignPage', CampaignRef)

const TAG = 'Campaigns'
const ID = requiredId('campaign')
const INPUT = inputArgument('CampaignInput', campaignInput, [AudienceTypeRef, MessageTypeRef])

builder.queryField('campaigns', (t) =>
  t.field({
    description: 'The campaigns of the project, newest first unless told otherwise.',
    type: CampaignPageRef,
    access: 'secretKey',
    rest: get('/campaigns', TAG),
    args: {
      ...pageArguments,
      status: t.arg({
        type: CampaignStatusRef,
        description: 'State of the campaigns to return; without it all.',
      }),
      search: t.arg.string({
        description: 'Part of the name, the subject or the address of the sender, in any case.',
      }),
      ...orderArguments,
    },
    resolve: (_root, query, ctx) => listCampaigns(ctx, query),
  }),
)

builder.queryField('campaign', (t) =>
  t.field({
    description: 'One campaign of the project, with its counters at this moment.',
    type: CampaignRef,
    access: 'secretKey',
    rest: get('/campaigns/:id', TAG, { wrapped: true, errors: ['CAMPAIGN_NOT_FOUND'] }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => getCampaign(ctx, args.id),
  }),
)

builder.mutationField('createCampaign', (t) =>
  t.field({
    description:
      'Creates a campaign in the state DRAFT; its syntax, sender and audience are checked at once.',
    type: CampaignRef,
    access: 'secretKey',
    rest: create('/campaigns', TAG, {
      wrapped: true,
      errors: ['SEGMENT_NOT_FOUND', 'DOMAIN_NOT_VERIFIED', 'CONFLICT'],
    }),
    args: { input: t.arg(INPUT) },
    resolve: (_root, args, ctx) => createCampaign(ctx, args.input),
  }),
)

builder.mutationField('updateCampaign', (t) =>
  t.field({
    description:
      'Replaces a campaign that is DRAFT or SCHEDULED: a field that is left out becomes null, or its default.',
    type: CampaignRef,
    access: 'secretKey',
    rest: put('/campaigns/:id', TAG, {
      wrapped: true,
      errors: ['CAMPAIGN_NOT_FOUND', 'SEGMENT_NOT_FOUND', 'DOMAIN_NOT_VERIFIED', 'CONFLICT'],
    }),
    args: { id: t.arg.id(ID), input: t.arg(INPUT) },
    resolve: (_root, args, ctx) => updateCampaign(ctx, args.id, args.input),
  }),
)

builder.mutationField('deleteCampaign', (t) =>
  t.field({
    description: 'Deletes a campaign that is DRAFT, SENT or CANCELLED. The messages that were sent stay.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/campaigns/:id', TAG, { errors: ['CAMPAIGN_NOT_FOUND', 'CONFLICT'] }),
    args: { id: t.arg.id(ID) },
    resolve: async (_root, args, ctx) => {
      await deleteCampaign(ctx, args.id)
      return true
    },
  }),
)

builder.mutationField('duplicateCampaign', (t) =>
  t.field({
    description:
      'Creates a draft with the content and the audience of a campaign; " (Copy)" is added to its name.',
    type: CampaignRef,
    access: 'secretKey',
    rest: create('/campaigns/:id/duplicate', TAG, {
      wrapped: true,
      errors: ['CAMPAIGN_NOT_FOUND', 'SEGMENT_NOT_FOUND', 'VALIDATION_ERROR', 'CONFLICT'],
    }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => duplicateCampaign(ctx, args.id),
  }),
)
