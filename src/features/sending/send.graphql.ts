import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import { RECIPIENTS_JSON, SENDER_JSON } from './recipients.rules.ts'
import { sendInput } from './send.rules.ts'
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

const SendEmailInput = inputFromZod('SendEmailInput', sendInput)

const SentContact = builder.objectRef<SentEmail['contact']>('SentContact').implement({
  description: 'The contact that a message goes to.',
  fields: (t) => ({ id: t.exposeID('id'), email: t.exposeString('email') }),
})

const SentEmailType = builder.objectRef<SentEmail>('SentEmail').implement({
  description: 'One accepted message.',
  fields: (t) => ({
    contact: t.expose('contact', { type: SentContact }),
    email: t.exposeID('email', { description: 'The id of the email.' }),
  }),
})

const SendEmailResult = builder.objectRef<SendResult>('SendEmailResult').implement({
  description: 'What was accepted: one email per recipient, in the order of `to`.',
  fields: (t) => ({
    emails: t.expose('emails', { type: [SentEmailType] }),
    timestamp: t.expose('timestamp', { type: 'DateTime' }),
  }),
})

builder.mutationField('sendEmail', (t) =>
  t.field({
    description:
      'Sends a message to one or many recipients, or to none of them when one cannot be written to.',
    type: SendEmailResult,
    access: 'secretKey',
    rest: post('/v1/send', 'Public API', {
      wrapped: true,
      rechecksKey: true,
      takesMessage: true,
      errors: ['CONTACT_UNSUBSCRIBED', 'DOMAIN_NOT_VERIFIED', 'TEMPLATE_NOT_FOUND'],
    }),
    idempotent: true,
    args: {
      input: t.arg({ type: SendEmailInput, required: true }),
      idempotencyKey: t.arg.string({
        description: '1 to 255 printable ASCII characters that nobody can guess.',
      }),
      idempotencyReplay: t.arg.boolean({ description: 'Answer a repeat with the first answer.' }),
    },
    resolve: (_root, { input }, ctx) => sendEmail(ctx, input),
  }),
)
