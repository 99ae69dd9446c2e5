import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { Contact } from '../contacts/contacts.graphql.ts'
import {
  type AudiencePreview,
  explainMembership,
  type Membership,
  previewAudience,
  previewAudienceInput,
} from './audience-preview.ts'

const AudiencePreviewRef = builder.objectRef<AudiencePreview>('AudiencePreview').implement({
  description: 'Whom something would be sent to.',
  fields: (t) => ({
    description: t.exposeString('description', { description: 'The condition in plain English.' }),
    matching: t.exposeInt('matching', { description: 'Contacts of the audience.' }),
    unsubscribed: t.exposeInt('unsubscribed', { description: 'Of these, not subscribed.' }),
    suppressed: t.exposeInt('suppressed', {
      description: 'Of these, with an address that must not be written to.',
    }),
    receiving: t.exposeInt('receiving', { description: 'Of these, would get mail of the given type.' }),
    sample: t.expose('sample', { type: [Contact], description: 'The newest contacts, at most 10.' }),
  }),
})

builder.queryField('previewAudience', (t) =>
  t.field({
    description:
      'How many contacts a condition, a segment or the whole project has, and how many would get mail.',
    type: AudiencePreviewRef,
    access: 'secretKey',
    args: {
      input: t.arg({ type: inputFromZod('PreviewAudienceInput', previewAudienceInput), required: true }),
    },
    resolve: (_root, { input }, ctx) => previewAudience(ctx, input),
  }),
)

const MembershipRef = builder.objectRef<Membership>('Membership').implement({
  description: 'Whether a contact is in a segment, and why.',
  fields: (t) => ({
    isMember: t.exposeBoolean('isMember'),
    explanation: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The tree of the segment; each node has `matches`, each filter the value that decided as `actual`. Null for a STATIC segment.',
      resolve: ({ explanation }) => explanation,
    }),
  }),
})

builder.queryField('explainMembership', (t) =>
  t.field({
    description: 'Why a contact is in a segment or not.',
    type: MembershipRef,
    access: 'secretKey',
    args: { contactId: t.arg.id({ required: true }), segmentId: t.arg.id({ required: true }) },
    resolve: (_root, args, ctx) => explainMembership(ctx, args),
  }),
)
