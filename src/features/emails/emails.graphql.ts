import type { EmailSource as SourceValue, EmailStatus as StatusValue } from '../../generated/prisma/enums.ts'
import { batched } from '../../graphql/batched.ts'
import { builder } from '../../graphql/builder.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { MessageType } from '../../graphql/enums.ts'
import { relatedPages } from '../../graphql/related-pages.ts'
import { Contact } from '../contacts/contacts.graphql.ts'
import { areUnderWay, countContactEmails, getEmail, pagesOfContactEmails, readBodies } from './emails.ts'

const EmailStatus = builder.enumType('EmailStatus', {
  description: 'Where a message is on its way.',
  values: {
    PENDING: { description: 'Waits to be handed over, for the first time or again.' },
    SENDING: { description: 'Is being handed over.' },
    SENT: { description: 'The provider has taken it.' },
    DELIVERED: {},
    OPENED: {},
    CLICKED: {},
    BOUNCED: {},
    COMPLAINED: {},
    FAILED: { description: 'Given up; `error` says why.' },
    SUPPRESSED: { description: 'Not handed over, because the contact must not get it.' },
    CANCELLED: {},
    RECEIVED: { description: 'Inbound.' },
  } satisfies Record<StatusValue, object>,
})

const EmailSource = builder.enumType('EmailSource', {
  values: {
    TRANSACTIONAL: {},
    CAMPAIGN: {},
    WORKFLOW: {},
    TEST: {},
    INBOUND: {},
  } satisfies Record<SourceValue, object>,
})

const isUnderWay = batched(areUnderWay)
const bodyOf = batched((ctx, ids) => {
  const read = () => readBodies(ctx, ids)
  return ctx.reads?.take(read) ?? read()
})

const Email = builder.prismaObject('Email', {
  description: 'One message to one contact.',
  fields: (t) => ({
    id: t.exposeID('id'),
    projectId: t.exposeID('projectId'),
    contactId: t.exposeID('contactId'),
    toEmail: t.exposeString('toEmail'),
    toName: t.exposeString('toName', { nullable: true }),
    from: t.exposeString('from'),
    fromName: t.exposeString('fromName', { nullable: true }),
    replyTo: t.exposeString('replyTo', { nullable: true }),
    subject: t.exposeString('subject'),
    body: t.string({
      nullable: true,
      description:
        'The rendered HTML; null once its retention has ended. Of several messages together at most 16 MB.',
      resolve: ({ id }, _args, ctx) => bodyOf(ctx, id),
    }),
    type: t.expose('type', { type: MessageType }),
    sourceType: t.expose('sourceType', { type: EmailSource }),
    status: t.field({
      type: EmailStatus,
      resolve: async ({ id, status }, _args, ctx) =>
        status === 'PENDING' && (await isUnderWay(ctx, id)) ? 'SENDING' : status,
    }),
    templateId: t.exposeID('templateId', { nullable: true }),
    campaignId: t.exposeID('campaignId', { nullable: true }),
    workflowExecutionId: t.exposeID('workflowExecutionId', { nullable: true }),
    messageId: t.exposeString('messageId'),
    providerMessageId: t.exposeString('providerMessageId', { nullable: true }),
    attempts: t.exposeInt('attempts'),
    error: t.exposeString('error', { nullable: true }),
    sentAt: t.expose('sentAt', { type: 'DateTime', nullable: true }),
    deliveredAt: t.expose('deliveredAt', { type: 'DateTime', nullable: true }),
    openedAt: t.expose('openedAt', { type: 'DateTime', nullable: true }),
    clickedAt: t.expose('clickedAt', { type: 'DateTime', nullable: true }),
    bouncedAt: t.expose('bouncedAt', { type: 'DateTime', nullable: true }),
    complainedAt: t.expose('complainedAt', { type: 'DateTime', nullable: true }),
    opens: t.exposeInt('opens'),
    clicks: t.exposeInt('clicks'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryField('email', (t) =>
  t.prismaField({
    description: 'One message of the project, with where it is on its way.',
    type: Email,
    access: 'secretKey',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => getEmail(ctx, id, query),
  }),
)

const EmailPage = cursorPageOf('EmailPage', Email)

const emailsOf = relatedPages({
  name: 'emails of contact',
  read: pagesOfContactEmails,
  count: countContactEmails,
})

builder.objectField(Contact, 'emails', (t) =>
  t.field({
    description: 'Mail to and from the contact, the newest first.',
    type: EmailPage,
    extensions: { relation: true },
    args: cursorArguments,
    resolve: ({ id }, args, ctx) => emailsOf(ctx, id, args),
  }),
)
