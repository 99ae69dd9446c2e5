import type { SuppressionReason } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, PROJECT_ID } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, remove } from '../../graphql/rest-route.ts'
import { addSuppressionInput } from './suppressions.input.ts'
import { addSuppression, listSuppressions, removeSuppression } from './suppressions.ts'

const SuppressionReasonRef = builder.enumType('SuppressionReason', {
  description: 'Why an address must not be written to.',
  values: {
    BOUNCE: { description: 'Mail to the address came back for good.' },
    COMPLAINT: { description: 'Somebody at the address has reported mail as spam.' },
    MANUAL: { description: 'The address was put on the list by hand.' },
    SOFT_BOUNCES: {
      description:
        'Five messages in a row were turned away for reasons that may pass, over at least three days.',
    },
  } satisfies Record<SuppressionReason, object>,
})

const SuppressionRef = builder.prismaObject('Suppression', {
  description: 'An address that no mail of the project is sent to, of whatever type.',
  fields: (t) => ({
    projectId: t.exposeID('projectId', PROJECT_ID),
    email: t.exposeString('email', { description: 'Address, in lower case.' }),
    reason: t.expose('reason', { type: SuppressionReasonRef, description: 'Why it is on the list.' }),
    emailId: t.exposeID('emailId', {
      nullable: true,
      description: 'Id of the email that it is on the list for; null for an address that was added by hand.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
  }),
})

builder.queryField('suppressions', (t) =>
  t.field({
    description: 'The addresses that no mail of the project is sent to, in alphabetical order.',
    type: cursorPageOf('SuppressionPage', SuppressionRef),
    access: 'secretKey',
    rest: get('/suppressions', 'Suppressions'),
    args: {
      ...cursorArguments,
      search: t.arg.string({ description: 'Part of the addresses to list, in any case.' }),
      reason: t.arg({ type: SuppressionReasonRef, description: 'Reason of the addresses to list.' }),
    },
    resolve: (_root, args, ctx) => listSuppressions(ctx, args),
  }),
)

builder.mutationField('addSuppression', (t) =>
  t.field({
    description:
      'Puts an address on the list: no mail is sent to it from then on, mail that waits included. An address that is on it stays as it is.',
    type: SuppressionRef,
    access: 'secretKey',
    rest: create('/suppressions', 'Suppressions'),
    args: { input: t.arg(inputArgument('AddSuppressionInput', addSuppressionInput)) },
    resolve: (_root, { input }, ctx) => addSuppression(ctx, input),
  }),
)

builder.mutationField('removeSuppression', (t) =>
  t.field({
    description:
      'Takes an address off the list, so that it may be written to. A contact that was unsubscribed with it stays so.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/suppressions/:email', 'Suppressions', { errors: ['RESOURCE_NOT_FOUND'] }),
    args: {
      email: t.arg.string({ required: true, description: 'Address to take off the list, in any case.' }),
    },
    resolve: async (_root, { email }, ctx) => {
      await removeSuppression(ctx, email)
      return true
    },
  }),
)
