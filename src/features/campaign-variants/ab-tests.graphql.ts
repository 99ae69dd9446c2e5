import type { AbTestMetric } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { requiredId } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { ratesOf, recipientsOf } from '../../messages/campaign-counts.rules.ts'
import { abTestInput } from './ab-tests.input.ts'
import { type AbTest, getAbTest, pickWinner, setAbTest } from './ab-tests.ts'

const AbTestMetricRef = defineEnum<AbTestMetric>('AbTestMetric', {
  description: 'What decides which variant wins an A/B test; what machines did is left out.',
  values: {
    OPENS: { description: 'The share of recipients who opened the message.' },
    CLICKS: { description: 'The share of recipients who followed a link of the message.' },
  },
})

const CampaignVariantRef = builder.objectRef<AbTest['variants'][number]>('CampaignVariant').implement({
  description: 'A variant of a campaign in its A/B test, with its numbers at this moment.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Number of the variant: 1 for the first one, up to 4.' }),
    subject: t.exposeString('subject', {
      description: 'Subject with {{variable}} placeholders; that of the campaign when the variant has none.',
    }),
    body: t.exposeString('body', {
      description: 'HTML with {{variable}} placeholders; that of the campaign when the variant has none.',
    }),
    weight: t.exposeInt('weight', {
      description: 'How large its part of the test is, compared with the other variants.',
    }),
    totalRecipients: t.int({
      description:
        'Number of recipients who get this variant, those included who may not; of the winner also those outside the test, each when its turn comes.',
      resolve: recipientsOf,
    }),
    sentCount: t.exposeInt('sentCount', {
      description: 'Number of messages that were handed over to the mail provider.',
    }),
    openedCount: t.exposeInt('openedCount', {
      description: 'Number of recipients who opened the message; machines are not counted.',
    }),
    clickedCount: t.exposeInt('clickedCount', {
      description: 'Number of recipients who followed a link of the message; machines are not counted.',
    }),
    unsubscribedCount: t.exposeInt('unsubscribedCount', {
      description: 'Number of recipients who unsubscribed by a link of the message.',
    }),
    openRate: t.float({
      description: 'Recipients who opened, in percent of the messages that were sent and did not come back.',
      resolve: (counts) => ratesOf(counts).openRate,
    }),
    clickRate: t.float({
      description: 'Recipients who followed a link, in percent of the same.',
      resolve: (counts) => ratesOf(counts).clickRate,
    }),
    unsubscribeRate: t.float({
      description: 'Recipients who unsubscribed, in percent of the same.',
      resolve: (counts) => ratesOf(counts).unsubscribeRate,
    }),
  }),
})

const AbTestRef = builder.objectRef<AbTest>('AbTest').implement({
  description:
    'An A/B test of a campaign: some of the audience gets the variants, the others get the best one.',
  fields: (t) => ({
    variants: t.expose('variants', {
      type: [CampaignVariantRef],
      description: 'The variants in their order, 2 to 4.',
    }),
    testPercent: t.exposeInt('testPercent', {
      description: 'Part of the audience that is in the test, in percent.',
    }),
    metric: t.expose('metric', { type: AbTestMetricRef, description: 'What decides which variant wins.' }),
    decideAfterMinutes: t.exposeInt('decideAfterMinutes', {
      description: 'Minutes between the moment when the last message of the test is queued and the decision.',
    }),
    decidesAt: t.expose('decidesAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time of the decision, in UTC with milliseconds; null before all of the test is queued and after the decision.',
    }),
    winner: t.exposeInt('winner', {
      nullable: true,
      description:
        'Number of the variant that those outside the test get; null before it is known, and when nobody is outside.',
    }),
  }),
})

const ID = requiredId('campaign')

builder.queryField('abTest', (t) =>
  t.field({
    description: 'The A/B test of a campaign, with the numbers of its variants; null without one.',
    type: AbTestRef,
    nullable: true,
    access: 'secretKey',
    args: { campaignId: t.arg.id(ID) },
    resolve: (_root, args, ctx) => getAbTest(ctx, args.campaignId),
  }),
)

builder.mutationField('setAbTest', (t) =>
  t.field({
    description:
      'Gives a campaign that is DRAFT or SCHEDULED an A/B test, in place of the one that it has; the syntax is checked at once.',
    type: AbTestRef,
    nullable: true,
    access: 'secretKey',
    args: {
      campaignId: t.arg.id(ID),
      input: t.arg(inputArgument('AbTestInput', abTestInput, [AbTestMetricRef])),
    },
    resolve: (_root, args, ctx) => setAbTest(ctx, args.campaignId, args.input),
  }),
)

builder.mutationField('removeAbTest', (t) =>
  t.field({
    description:
      'Removes the A/B test of a campaign that is DRAFT or SCHEDULED: all get the campaign itself.',
    type: 'Boolean',
    access: 'secretKey',
    args: { campaignId: t.arg.id(ID) },
    resolve: async (_root, args, ctx) => {
      await setAbTest(ctx, args.campaignId, null)
      return true
    },
  }),
)

builder.mutationField('pickWinner', (t) =>
  t.field({
    description:
      'Ends the A/B test of a campaign that is SENDING at once: those outside the test get this variant. Refused when there is a winner.',
    type: AbTestRef,
    nullable: true,
    access: 'secretKey',
    args: {
      campaignId: t.arg.id(ID),
      variant: t.arg.int({ required: true, description: 'Number of the variant, 1 to 4.' }),
    },
    resolve: (_root, args, ctx) => pickWinner(ctx, args.campaignId, args.variant),
  }),
)
