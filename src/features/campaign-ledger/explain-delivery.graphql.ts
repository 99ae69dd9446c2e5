import { builder } from '../../graphql/builder.ts'
import { requiredId } from '../../graphql/common-fields.ts'
import { EmailRef } from '../emails/emails.graphql.ts'
import { EventRef } from '../events/events.graphql.ts'
import { type DeliveryExplanation, explainDelivery } from './explain-delivery.ts'
import { RecipientStatusRef } from './recipients.graphql.ts'

const DeliveryExplanationRef = builder.objectRef<DeliveryExplanation>('DeliveryExplanation').implement({
  description: 'Why a contact has the message of a campaign or not, with the facts that decide it.',
  fields: (t) => ({
    answer: t.exposeString('answer', { description: 'Sentence for people that answers the question.' }),
    status: t.expose('status', {
      type: RecipientStatusRef,
      nullable: true,
      description: 'State of the contact in the ledger of the campaign; null when it is not in it.',
    }),
    variant: t.exposeInt('variant', {
      nullable: true,
      description:
        'Number of the variant that the contact gets; null without an A/B test, and while that depends on the winner.',
    }),
    turnAt: t.expose('turnAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time when the turn of the contact comes by its time zone, in UTC; null when the campaign was not scheduled by the clocks of its recipients.',
    }),
    isInAudience: t.exposeBoolean('isInAudience', {
      nullable: true,
      description:
        'Whether the audience, as of the start of the sending, has the contact as it is now; null when it is deleted.',
    }),
    audience: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'Filter tree of the audience, in which each node has `matches`, and each filter the value that decided as `actual`; null when the campaign is for all contacts.',
      resolve: ({ audience }) => audience,
    }),
    subscribed: t.exposeBoolean('subscribed', {
      nullable: true,
      description: 'Whether the contact is subscribed at this moment; null when it is deleted.',
    }),
    suppressedFor: t.string({
      nullable: true,
      description: 'Reason why the address is suppressed: BOUNCE, COMPLAINT or MANUAL; null when it is not.',
      resolve: ({ suppression }) => suppression?.reason ?? null,
    }),
    isThrottled: t.exposeBoolean('isThrottled', {
      description: 'Whether the message is queued and the project sends as much in this second as it may.',
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the next attempt to hand the message over, in UTC; null when it is not queued.',
    }),
    email: t.expose('email', {
      type: EmailRef,
      nullable: true,
      description: "The message, with its state and the mail provider's last answer; null without one.",
    }),
    events: t.expose('events', {
      type: [EventRef],
      description: 'Events of the message, the oldest first, at most 100.',
    }),
  }),
})

builder.queryField('explainDelivery', (t) =>
  t.field({
    description: 'Tells why a contact has the message of a campaign or not.',
    type: DeliveryExplanationRef,
    access: 'secretKey',
    args: { campaignId: t.arg.id(requiredId('campaign')), contactId: t.arg.id(requiredId('contact')) },
    resolve: (_root, args, ctx) => explainDelivery(ctx, args),
  }),
)
