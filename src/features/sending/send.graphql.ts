import { builder } from '../../graphql/builder.ts'
import { idempotencyArguments, idOf } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import { RECIPIENTS_JSON, SENDER_JSON } from './recipients.input.ts'
import { type AttachmentDisposition, sendInput } from './send.input.ts'
import { sendEmail } from './send.ts'
import type { SendResult, SentEmail } from './store-send.ts'

builder.scalarType('Recipients', {
  description: 'An address, "Name <address>" or { name, email }, or a list of these.',
  extensions: { jsonSchema: RECIPIENTS_JSON },
  parseValue: (value) => value,
  serialize: (value) => value,
})

builder.scalarType('Sender', {
  description: 'An address, "Name <address>" or { name, email }.',
  extensions: { jsonSchema: SENDER_JSON },
  parseValue: (value) => value,
  serialize: (value) => value,
})

const SendEmailInputAttachmentsInputDispositionRef = defineEnum<AttachmentDisposition>(
  'SendEmailInputAttachmentsInputDisposition',
  {
    description: 'Place of a file in a message (RFC 2183).',
    values: {
      attachment: { description: 'A file to download.' },
      inline: { description: 'An image that the HTML shows by its `contentId`.' },
    },
  },
)

const SentContactRef = builder.objectRef<SentEmail['contact']>('SentContact').implement({
  description: 'The contact that a message goes to.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('contact')),
    email: t.exposeString('email', { description: 'Address of the contact, in lower case.' }),
  }),
})

const SentEmailRef = builder.objectRef<SentEmail>('SentEmail').implement({
  description: 'One message that was accepted for sending.',
  fields: (t) => ({
    contact: t.expose('contact', { type: SentContactRef, description: 'Recipient of the message.' }),
    email: t.exposeID('email', idOf('email')),
  }),
})

const SendEmailResultRef = builder.objectRef<SendResult>('SendEmailResult').implement({
  description: 'Outcome of sending: the messages that were accepted.',
  fields: (t) => ({
    emails: t.expose('emails', {
      type: [SentEmailRef],
      description:
        'Accepted messages, one per recipient in the order of `to`; a repeated address counts once.',
    }),
    timestamp: t.expose('timestamp', {
      type: 'DateTime',
      description: 'Time when the messages were accepted, in UTC with milliseconds.',
    }),
  }),
})

builder.mutationField('sendEmail', (t) =>
  t.field({
    description:
      'Sends a message to one or many recipients, or to none of them when one cannot be written to.',
    type: SendEmailResultRef,
    access: 'secretKey',
    scope: 'SEND',
    rest: post('/v1/send', 'Public API', {
      wrapped: true,
      rechecksKey: true,
      takesMessage: true,
      errors: ['BILLING_LIMIT_EXCEEDED', 'CONTACT_UNSUBSCRIBED', 'DOMAIN_NOT_VERIFIED', 'TEMPLATE_NOT_FOUND'],
    }),
    idempotent: true,
    args: {
      input: t.arg(
        inputArgument('SendEmailInput', sendInput, [SendEmailInputAttachmentsInputDispositionRef]),
      ),
      ...idempotencyArguments,
    },
    resolve: (_root, { input }, ctx) => sendEmail(ctx, input),
  }),
)
