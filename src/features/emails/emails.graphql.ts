import type { EmailSource, EmailStatus } from '../../generated/prisma/enums.ts'
import { batched } from '../../graphql/batched.ts'
import { builder } from '../../graphql/builder.ts'
import {
  CREATED_AT,
  idOf,
  idOfOther,
  PROJECT_ID,
  requiredId,
  timeWhen,
  UPDATED_AT,
} from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { MessageTypeRef } from '../../graphql/enums.ts'
import { relatedPages } from '../../graphql/related-pages.ts'
import { ContactRef } from '../contacts/contacts.graphql.ts'
import type { EmailFile } from './emails.sql.ts'
import {
  areUnderWay,
  countContactEmails,
  getEmail,
  pagesOfContactEmails,
  readBodies,
  readFiles,
} from './emails.ts'

const EmailStatusRef = builder.enumType('EmailStatus', {
  description:
    'State of a message between its acceptance and its end. A late lower state never replaces a higher one.',
  values: {
    PENDING: { description: 'A message that waits to be handed over, for the first time or again.' },
    SENDING: { description: 'A message that is being handed over to the mail provider.' },
    SENT: { description: 'A message that the mail provider has taken.' },
    DELIVERED: { description: 'A message that the server of the recipient has accepted.' },
    OPENED: { description: 'A message that was opened.' },
    CLICKED: { description: 'A message with a link that was followed.' },
    BOUNCED: { description: 'A message that came back, because the address cannot be delivered to.' },
    COMPLAINED: { description: 'A message that the recipient has reported as spam.' },
    FAILED: { description: 'A message that was given up; `error` says why.' },
    SUPPRESSED: {
      description:
        'A message that was not handed over, because the contact has unsubscribed or the address must not be written to.',
    },
    CANCELLED: { description: 'A message that was stopped before it was handed over.' },
    RECEIVED: { description: 'An inbound message, from the contact.' },
  } satisfies Record<EmailStatus, object>,
})

const EmailSourceRef = builder.enumType('EmailSource', {
  description: 'Origin of a message.',
  values: {
    TRANSACTIONAL: { description: 'A request to send: sendEmail or POST /v1/send.' },
    CAMPAIGN: { description: 'A campaign, to its whole audience.' },
    WORKFLOW: { description: 'A step of a workflow.' },
    TEST: { description: 'A test of a campaign, to one address.' },
    INBOUND: { description: 'Mail that the project has received.' },
  } satisfies Record<EmailSource, object>,
})

const isUnderWay = batched(areUnderWay)
const bodyOf = batched((ctx, ids) => {
  const read = () => readBodies(ctx, ids)
  return ctx.reads?.take(read) ?? read()
})

const filesOf = batched((ctx, ids) => {
  const read = () => readFiles(ctx, ids)
  return ctx.reads?.take(read) ?? read()
})

const EmailFileRef = builder.objectRef<EmailFile>('EmailFile').implement({
  description: 'A file that travelled with a message.',
  fields: (t) => ({
    filename: t.exposeString('filename', { description: 'Name of the file; empty when it has none.' }),
    contentType: t.exposeString('contentType', { description: 'Media type, such as application/pdf.' }),
    size: t.exposeInt('size', { description: 'Size of the content in bytes.' }),
  }),
})

export const EmailRef = builder.prismaObject('Email', {
  description: 'One message to one contact.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('email')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    contactId: t.exposeID('contactId', idOfOther('the contact that the message is for or from')),
    toEmail: t.exposeString('toEmail', {
      description: 'Address of the recipient at the time of sending, in lower case.',
    }),
    toName: t.exposeString('toName', {
      nullable: true,
      description: 'Display name of the recipient; null when the request gave none.',
    }),
    from: t.exposeString('from', { description: 'Address of the sender, in lower case.' }),
    fromName: t.exposeString('fromName', {
      nullable: true,
      description: 'Display name of the sender; null when there is none.',
    }),
    replyTo: t.exposeString('replyTo', {
      nullable: true,
      description: 'Address for replies; null when they go to the sender.',
    }),
    subject: t.exposeString('subject', { description: 'Subject as rendered for this recipient.' }),
    body: t.string({
      nullable: true,
      description:
        'HTML as rendered for this recipient, or the text of a message without HTML; of inbound mail without what could run or load anything. Mail of a campaign is rendered again: its tracking and its footer are as the project has them at present. Null once its retention has ended, 90 days by default. The bodies of several messages in one answer may have at most 16 MB together.',
      resolve: ({ id }, _args, ctx) => bodyOf(ctx, id),
    }),
    attachments: t.field({
      type: [EmailFileRef],
      description:
        'Files that travelled with the message; none once its retention has ended. The contents of inbound ones are not kept.',
      resolve: ({ id }, _args, ctx) => filesOf(ctx, id),
    }),
    answersId: t.exposeID('answersId', {
      nullable: true,
      ...idOfOther('the message of the project that this inbound one answers', 'when none is known'),
    }),
    type: t.expose('type', { type: MessageTypeRef, description: 'Kind of the message.' }),
    sourceType: t.expose('sourceType', { type: EmailSourceRef, description: 'Origin of the message.' }),
    status: t.field({
      type: EmailStatusRef,
      description: 'State of the message at this moment.',
      resolve: async ({ id, status }, _args, ctx) =>
        status === 'PENDING' && (await isUnderWay(ctx, id)) ? 'SENDING' : status,
    }),
    templateId: t.exposeID('templateId', {
      nullable: true,
      ...idOfOther('the template that the message was rendered from', 'without one'),
    }),
    campaignId: t.exposeID('campaignId', {
      nullable: true,
      ...idOfOther('the campaign that the message belongs to', 'without one'),
    }),
    workflowExecutionId: t.exposeID('workflowExecutionId', {
      nullable: true,
      ...idOfOther('the execution of a workflow that has sent the message', 'without one'),
    }),
    messageId: t.exposeString('messageId', {
      description: 'Message-ID header (RFC 5322), the same at every attempt: `<id@domain of the sender>`.',
    }),
    providerMessageId: t.exposeString('providerMessageId', {
      nullable: true,
      description: 'Id that the mail provider has given the message; null before the hand-over.',
    }),
    attempts: t.exposeInt('attempts', {
      description:
        'Number of attempts to hand the message over, counted when each has ended. They are repeated for about 24 hours.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description:
        'Sentence that explains the failure of the last attempt, or says of a SENT message that it may have arrived twice; null when all is well.',
    }),
    sentAt: t.expose('sentAt', timeWhen('the mail provider took the message')),
    deliveredAt: t.expose('deliveredAt', timeWhen('the server of the recipient accepted the message')),
    openedAt: t.expose('openedAt', timeWhen('the message was first opened')),
    clickedAt: t.expose('clickedAt', timeWhen('a link of the message was first followed')),
    bouncedAt: t.expose('bouncedAt', timeWhen('the message came back')),
    complainedAt: t.expose('complainedAt', timeWhen('the recipient reported the message as spam')),
    opens: t.exposeInt('opens', {
      description:
        'Number of times that a person opened the message, as far as known; what machines did is left out.',
    }),
    clicks: t.exposeInt('clicks', {
      description:
        'Number of times that a person followed links of the message; what machines did is left out.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

builder.queryField('email', (t) =>
  t.prismaField({
    description: 'One message of the project, with its state.',
    type: EmailRef,
    access: 'secretKey',
    args: { id: t.arg.id(requiredId('email')) },
    resolve: (query, _root, { id }, ctx) => getEmail(ctx, id, query),
  }),
)

const EmailPageRef = cursorPageOf('EmailPage', EmailRef)

const emailsOf = relatedPages({
  name: 'emails of contact',
  read: pagesOfContactEmails,
  count: countContactEmails,
})

builder.objectField(ContactRef, 'emails', (t) =>
  t.field({
    description: 'Mail to and from the contact, the newest first.',
    type: EmailPageRef,
    extensions: { relation: true },
    args: cursorArguments,
    resolve: ({ id }, args, ctx) => emailsOf(ctx, id, args),
  }),
)
