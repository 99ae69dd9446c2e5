import { builder } from '../../graphql/builder.ts'
import { requiredId } from '../../graphql/common-fields.ts'
import { MessageTypeRef } from '../../graphql/enums.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { ContactRef } from '../contacts/contacts.graphql.ts'
import { previewAudienceInput } from './audience-preview.input.ts'
import {
  type AudiencePreview,
  explainMembership,
  type Membership,
  previewAudience,
} from './audience-preview.ts'

const AudiencePreviewRef = builder.objectRef<AudiencePreview>('AudiencePreview').implement({
  description: 'The contacts that something would be sent to, counted at this moment.',
  fields: (t) => ({
    description: t.exposeString('description', {
      description: 'Condition of the audience in plain English.',
    }),
    matching: t.exposeInt('matching', { description: 'Number of contacts of the audience.' }),
    unsubscribed: t.exposeInt('unsubscribed', { description: 'Number of them that are not subscribed.' }),
    suppressed: t.exposeInt('suppressed', {
      description: 'Number of them with a suppressed address: after a bounce or a complaint, or by hand.',
    }),
    receiving: t.exposeInt('receiving', {
      description: 'Number of them that would receive mail of the given type.',
    }),
    sample: t.expose('sample', {
      type: [ContactRef],
      description: 'Newest contacts of the audience, at most 10.',
    }),
  }),
})

builder.queryField('previewAudience', (t) =>
  t.field({
    description:
      'Counts the contacts of a condition, a segment or the whole project, and how many of them would receive mail.',
    type: AudiencePreviewRef,
    access: 'secretKey',
    args: { input: t.arg(inputArgument('PreviewAudienceInput', previewAudienceInput, [MessageTypeRef])) },
    resolve: (_root, { input }, ctx) => previewAudience(ctx, input),
  }),
)

const MembershipRef = builder.objectRef<Membership>('Membership').implement({
  description: 'Whether a contact is in a segment, and why.',
  fields: (t) => ({
    isMember: t.exposeBoolean('isMember', {
      description: 'Whether the contact is in the segment at this moment.',
    }),
    explanation: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'Filter tree of the segment, in which each node has `matches`, and each filter the value that decided as `actual`; null for a STATIC segment.',
      resolve: ({ explanation }) => explanation,
    }),
  }),
})

builder.queryField('explainMembership', (t) =>
  t.field({
    description: 'Tells whether a contact is in a segment, and why.',
    type: MembershipRef,
    access: 'secretKey',
    args: { contactId: t.arg.id(requiredId('contact')), segmentId: t.arg.id(requiredId('segment')) },
    resolve: (_root, args, ctx) => explainMembership(ctx, args),
  }),
)
