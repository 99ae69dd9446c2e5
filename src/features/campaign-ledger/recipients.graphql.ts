import type { RecipientStatus as RecipientStatusValue } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { idOfOther, requiredId } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { defineEnum } from '../../graphql/inputs/zod-input.ts'
import { CampaignRef } from '../campaigns/campaigns.graphql.ts'
import type { Campaign } from '../campaigns/find-campaign.ts'
import { listRecipients, type Recipient } from './recipients.ts'
import { retryFailed } from './retry-failed.ts'

const ID = requiredId('campaign')

const RetriedCampaignRef = builder
  .objectRef<{ campaign: Campaign; retried: number }>('RetriedCampaign')
  .implement({
    description: 'A campaign of which messages are tried again.',
    fields: (t) => ({
      campaign: t.expose('campaign', { type: CampaignRef, description: 'The campaign as it is now.' }),
      retried: t.exposeInt('retried', { description: 'Number of messages that are tried again.' }),
    }),
  })

builder.mutationField('retryFailed', (t) =>
  t.field({
    description: 'Tries the messages of a campaign again that were given up, with all attempts before them.',
    type: RetriedCampaignRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, args, ctx) => retryFailed(ctx, args.id),
  }),
)

export const RecipientStatusRef = defineEnum<RecipientStatusValue>('RecipientStatus', {
  description: 'State of a recipient of a campaign.',
  values: {
    PENDING: { description: 'A recipient whose turn has not come.' },
    SENDING: { description: 'A recipient whose message is in the delivery queue or being handed over.' },
    SENT: { description: 'A recipient whose message was handed over to the mail provider.' },
    FAILED: { description: 'A recipient for whom the message was given up; `retryFailed` tries again.' },
    SUPPRESSED: { description: 'A recipient whose address must not be written to.' },
    SKIPPED: { description: 'A recipient who was left out: not subscribed, or deleted meanwhile.' },
    CANCELLED: { description: 'A recipient who was not written to because the campaign was cancelled.' },
  },
})

const CampaignRecipientRef = builder.objectRef<Recipient>('CampaignRecipient').implement({
  description: 'What became of a campaign for one contact.',
  fields: (t) => ({
    contactId: t.exposeID('contactId', idOfOther('the contact, which may have been deleted since')),
    status: t.expose('status', { type: RecipientStatusRef, description: 'State of the recipient.' }),
    variant: t.exposeInt('variant', {
      nullable: true,
      description:
        'Number of the variant that the recipient gets; null without an A/B test, and while that depends on the winner.',
    }),
    emailId: t.exposeID('emailId', {
      nullable: true,
      ...idOfOther('the message', 'before there is one, and when it was deleted with the contact'),
    }),
  }),
})

const CampaignRecipientPageRef = cursorPageOf('CampaignRecipientPage', CampaignRecipientRef)

builder.queryField('campaignRecipients', (t) =>
  t.field({
    description: 'The ledger of a campaign: everyone it is for, and what became of it.',
    type: CampaignRecipientPageRef,
    access: 'secretKey',
    args: {
      campaignId: t.arg.id(ID),
      status: t.arg({ type: RecipientStatusRef, description: 'State of the recipients; without it all.' }),
      ...cursorArguments,
    },
    resolve: (_root, args, ctx) => listRecipients(ctx, args),
  }),
)
